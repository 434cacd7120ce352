import { artifactLimits, type Discovery, environmentLimits, limits } from '@berth/contract'
import { findAllowedModels } from '@berth/core/accounting/own-budgets.ts'
import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { installedRuntimes } from '@berth/core/runtimes/runtime-hosts.ts'

/** The sandbox platform of a deployment and its lease bounds. */
export interface Platform {
  readonly kind: string
  readonly leaseIdleMs: number
  readonly leaseMaxMs: number
}

/** Returns the handlers of the discovery pages. */
export function discoveryHandlers(
  context: Context,
  platform: Platform,
): Pick<Handlers, 'getCapabilities' | 'listRuntimes'> {
  const lease = { leaseIdleSeconds: platform.leaseIdleMs / 1000, leaseMaxSeconds: platform.leaseMaxMs / 1000 }
  return {
    getCapabilities: async ({ principal }) => {
      const body: Discovery = {
        limits: {
          maxMessageCharacters: limits.messageCharacters,
          maxPageSize: limits.pageSize,
          maxTurns: limits.turnsPerSession,
          maxFilesPerTurn: limits.filesPerTurn,
        },
        artifacts: {
          conversationCheckpointMaxBytes: artifactLimits.conversationCheckpointMaxBytes,
          workspaceCheckpointMaxBytes: artifactLimits.workspaceCheckpointMaxBytes,
          presentedFileMaxBytes: artifactLimits.presentedFileMaxBytes,
          presentedFilesMaxBytes: artifactLimits.presentedFilesMaxBytes,
          presentedFilesMax: artifactLimits.presentedFilesMax,
          summaryMaxBytes: artifactLimits.summaryMaxBytes,
        },
        environments: [
          {
            kind: platform.kind,
            workspace: { maxCheckpointBytes: artifactLimits.workspaceCheckpointMaxBytes, ...lease },
          },
        ],
        organizationEnvironments: {
          maxLive: environmentLimits.live,
          documentMaxBytes: environmentLimits.documentBytes,
          setupMaxCharacters: environmentLimits.setupCharacters,
          maxVariables: environmentLimits.variables,
          maxSecrets: environmentLimits.secrets,
          secretMaxBytes: environmentLimits.secretBytes,
          secretsMaxBytes: environmentLimits.secretsBytes,
          archiveMaxBytes: environmentLimits.archiveBytes,
          archivesMaxBytes: environmentLimits.archivesBytes,
        },
        capabilities: [...principal.capabilities],
      }
      return { status: 200, body }
    },
    listRuntimes: async ({ principal }) => {
      const { db, clock, runtimes, models, defaultModel } = context
      const installed = await installedRuntimes(db, clock, principal.organizationId)
      const allowed = await findAllowedModels(db, principal.organizationId)
      return {
        status: 200,
        body: { runtimes: runtimes.describe(installed, format => models.choices(format, allowed), defaultModel) },
      }
    },
  }
}

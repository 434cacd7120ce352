import { connectionHandlers } from '@berth/core/accounts/connections/routes.ts'
import { identityHandlers } from '@berth/core/accounts/me.ts'
import type { Context } from '@berth/core/context.ts'
import { environmentHandlers } from '@berth/core/environments/routes.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { releaseHandlers } from '@berth/core/releases/routes.ts'
import { repositoryHandlers } from '@berth/core/repositories/routes.ts'
import { artifactHandlers } from '@berth/core/sessions/artifacts/routes.ts'
import { egressHandlers } from '@berth/core/sessions/egress/routes.ts'
import { followUpHandlers } from '@berth/core/sessions/following/routes.ts'
import { interactionHandlers } from '@berth/core/sessions/interactions/routes.ts'
import { mergeHandlers } from '@berth/core/sessions/merges/routes.ts'
import { publicationHandlers } from '@berth/core/sessions/publications/routes.ts'
import { reviewHandlers } from '@berth/core/sessions/reviews/routes.ts'
import { sessionHandlers } from '@berth/core/sessions/routes.ts'
import { runHandlers } from '@berth/core/sessions/runs/routes.ts'
import { eventHandlers, type Streaming } from '@berth/core/sessions/streams/routes.ts'
import { trialHandlers } from '@berth/core/sessions/trials/routes.ts'
import { turnHandlers } from '@berth/core/sessions/turns/routes.ts'
import { verificationHandlers } from '@berth/core/sessions/verifications/routes.ts'
import type { WebhookParts } from '@berth/core/webhooks/routes.ts'
import { transcriptionHandlers } from '@berth/gateway/transcription/routes.ts'
import { openNetwork } from '@berth/platform/network/dial.ts'
import { dialRule } from '@berth/platform/network/dial-rule.ts'
import { inRanges } from '@berth/platform/network/public-address.ts'
import type { Config } from '@berth/platform/settings/config-file.ts'
import { cloudHandlers } from '../cloud/routes.ts'
import { artifactViewHandlers } from '../console/artifact-views/routes.ts'
import { auditHandlers } from '../console/audit/routes.ts'
import { checkHandlers } from '../console/checks/routes.ts'
import { computeHandlers } from '../console/compute/routes.ts'
import { costHandlers } from '../console/cost/routes.ts'
import { fileHandlers } from '../console/files/routes.ts'
import { gitConnectionHandlers } from '../console/git-connections/routes.ts'
import { healthHandlers } from '../console/health/routes.ts'
import type { PreviewPlace } from '../console/ports/preview-place.ts'
import { portHandlers } from '../console/ports/routes.ts'
import { pushHandlers } from '../console/push/routes.ts'
import { storedReviewHandlers } from '../console/reviews/routes.ts'
import { consoleHandlers } from '../console/routes.ts'
import type { DeploymentLimits } from '../console/settings/organization-settings.ts'
import { settingsHandlers } from '../console/settings/routes.ts'
import { terminalHandlers } from '../console/terminals/routes.ts'
import type { TerminalPlace } from '../console/terminals/terminal-place.ts'
import { usageHandlers } from '../console/usage/routes.ts'
import { viewedHandlers } from '../console/viewed/routes.ts'
import { discoveryHandlers, type Platform } from '../discovery/routes.ts'
import { mcpHandlers, type ToolsPlace } from '../mcp/routes.ts'
import type { Triggers } from './optional-packages.ts'

/** The ways into sandboxes, and back to this API, and the parts that other surfaces or builds decide on. */
export interface ApiPlaces {
  readonly terminals: TerminalPlace
  readonly previews: PreviewPlace
  readonly tools: ToolsPlace
  readonly webhooks: WebhookParts
  /** Null in a build without them. */
  readonly triggers: Triggers | null
}

/** Returns the handlers of every guarded operation of the API; a missing one does not compile. */
export function apiHandlers(
  context: Context,
  platform: Platform,
  streaming: Streaming,
  config: Pick<Config, 'transcription' | 'egress' | 'providers' | 'models'>,
  deployment: DeploymentLimits,
  environments: Parameters<typeof environmentHandlers>[1] & Parameters<typeof trialHandlers>[2],
  { terminals, previews, tools, webhooks, triggers }: ApiPlaces,
): Handlers {
  const { transcription, egress } = config
  const mayDial = dialRule(inRanges(egress.refuse))
  return {
    ...discoveryHandlers(context, platform),
    ...sessionHandlers(context),
    ...turnHandlers(context),
    ...runHandlers(context),
    ...interactionHandlers(context),
    ...egressHandlers(context),
    ...eventHandlers(context, streaming),
    ...artifactHandlers(context),
    ...reviewHandlers(context),
    ...verificationHandlers(context),
    ...publicationHandlers(context),
    ...mergeHandlers(context),
    ...followUpHandlers(context),
    ...repositoryHandlers(context),
    ...environmentHandlers(context, { ...environments, openHosts: egress.hosts }),
    ...trialHandlers(context, streaming, environments),
    ...transcriptionHandlers(transcription),
    ...releaseHandlers(context, { network: openNetwork(), mayDial }),
    ...identityHandlers(context),
    ...connectionHandlers(context),
    ...cloudHandlers(context),
    ...consoleHandlers(context, streaming),
    ...storedReviewHandlers(context),
    ...viewedHandlers(context),
    ...checkHandlers(context),
    ...costHandlers(context, deployment),
    ...usageHandlers(context),
    ...auditHandlers(context),
    ...healthHandlers(context),
    ...computeHandlers(context),
    ...settingsHandlers(context, deployment, config),
    ...fileHandlers(context),
    ...terminalHandlers(terminals),
    ...portHandlers(previews),
    ...artifactViewHandlers(previews),
    ...gitConnectionHandlers(context),
    ...pushHandlers(context, webhooks),
    ...mcpHandlers(tools),
    ...triggers?.triggerHandlers(context, tools),
  }
}

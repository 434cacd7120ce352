import { documentOfLease, readFixedDocument } from '@berth/core/environments/fix-environment.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { openRemembered } from '@berth/core/sessions/log/session-redactor.ts'
import { UnsealError } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { AddedVariables } from '../agent/agent-environment.ts'
import type { GitSettings } from '../claim/git-access.ts'
import { hasEdge, leasePlaceholder } from '../claim/lease-edge.ts'
import { ApplyFailed } from './apply-failed.ts'
import { openExports } from './setup-exports.ts'

/**
 * Returns what the environment of a lease adds to the variables of its processes; null without an environment. A lease
 * keeps its values for its whole life: neither a new revision nor a rotated secret changes them. A secret that the proxy
 * puts in is there as its placeholder.
 *
 * @throws ApplyFailed `secret_unavailable` if the master key opens one of the secrets no more
 */
export async function environmentOfLease(db: Queryable, lease: LeaseRow): Promise<AddedVariables | null> {
  if (lease.environment_id === null || lease.environment_revision === null) return null
  if (lease.environment_secrets === null) throw new ApplyFailed('secret_unavailable')
  const { organization_id: organizationId, session_id: sessionId, environment_id: environmentId } = lease
  const digests = lease.environment_secrets.map(({ digest }) => digest)
  try {
    const [document, values] = await Promise.all([
      readFixedDocument(db, { organizationId, environmentId }, lease.environment_revision),
      openRemembered(db, { organizationId, sessionId }, 'environment', digests),
    ])
    const { masterKey } = db
    const secrets = lease.environment_secrets.map(({ name, digest, egress }) => {
      const value = values.get(digest) ?? ''
      const isPut = egress !== undefined && masterKey !== undefined
      return [name, isPut ? leasePlaceholder(masterKey, lease.id, name, value) : value] as const
    })
    const outsideSetup = lease.environment_secrets.filter(({ egress }) => egress?.setup === false)
    const { variables: exported, path } = openExports(db, lease, lease.apply?.exports)
    return {
      ...{ variables: document.variables, secrets: Object.fromEntries(secrets), exported, path },
      hasAuthority: hasEdge(lease),
      outsideSetup: outsideSetup.map(({ name }) => name),
    }
  } catch (error) {
    if (error instanceof UnsealError) throw new ApplyFailed('secret_unavailable', {}, { cause: error })
    throw error
  }
}

/** Returns what the environment that a lease was set up by says about Git hosts. */
export async function gitSettingsOfLease(db: Queryable, lease: LeaseRow): Promise<GitSettings> {
  return (await documentOfLease(db, lease)) ?? { github: false, repositories: [] }
}

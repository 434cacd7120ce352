import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { openRemembered } from '@berth/core/sessions/log/session-redactor.ts'
import { type MasterKey, UnsealError } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { SandboxEgress } from '@berth/sandboxes/driver.ts'
import { openLeaseAuthority } from '@berth/sandboxes/egress/edge/lease-authority.ts'
import { placeholderOf } from '@berth/sandboxes/egress/edge/placeholder.ts'

type LeaseWithSecrets = Pick<LeaseRow, 'id' | 'organization_id' | 'session_id' | 'environment_secrets'>

/** Returns whether a lease has secrets that its proxy puts in, and so an authority that its sandbox trusts. */
export function hasEdge({ environment_secrets: secrets }: Pick<LeaseRow, 'environment_secrets'>): boolean {
  return secrets?.some(({ egress }) => egress !== undefined) === true
}

/**
 * Returns what a sandbox has in place of a secret. The master key and the lease decide it, so that any worker that takes
 * the lease over knows it, and it is stored nowhere.
 */
export function leasePlaceholder(key: MasterKey, leaseId: string, name: string, value: string): string {
  return placeholderOf(key.derive(`lease/${leaseId}/placeholder/${name}`), name, value)
}

/**
 * Returns the secrets that a lease's proxy puts in, and the authority by which it stands for their hosts. A lease keeps
 * its values for its whole life, as it keeps those of variables.
 */
export async function edgeOf(
  db: Queryable,
  lease: LeaseWithSecrets,
): Promise<Pick<SandboxEgress, 'secrets' | 'authority'>> {
  const { masterKey } = db
  if (masterKey === undefined || !hasEdge(lease)) return {}
  const { environment_secrets: all, id, organization_id: organizationId, session_id: sessionId } = lease
  const named = (all ?? []).flatMap(({ digest, egress, name }) => (egress ? [{ digest, egress, name }] : []))
  try {
    const digests = named.map(({ digest }) => digest)
    const values = await openRemembered(db, { organizationId, sessionId }, 'environment', digests)
    const secrets = named.map(({ digest, egress: { hosts, methods, paths, put }, name }) => {
      const value = values.get(digest) ?? ''
      const placeholder = leasePlaceholder(masterKey, id, name, value)
      return { name, value, placeholder, hosts, put, ...(methods && { methods }), ...(paths && { paths }) }
    })
    const hosts = secrets.flatMap(({ hosts: own }) => own)
    return { secrets, authority: openLeaseAuthority(masterKey.derive(`lease/${id}/authority`), id, hosts) }
  } catch (error) {
    // Applying the environment fails with the reason.
    if (error instanceof UnsealError) return {}
    throw error
  }
}

import type { Principal } from '../../identity/guard/principal.ts'
import type { AuditEntry } from './append.ts'

/** Says what a caller of an operation, a person or an installation, has done in the organization of its credential. */
export function principalEntry(
  { kind, id, organizationId }: Pick<Principal, 'kind' | 'id' | 'organizationId'>,
  address: string | undefined,
  action: string,
  about: Pick<AuditEntry, 'target' | 'details'>,
): AuditEntry {
  return {
    organizationId,
    actor: { kind, id, name: null },
    action,
    outcome: 'done',
    ...about,
    ...(address !== undefined && { address }),
  }
}

import type { PersonPrincipal } from '../../identity/guard/principal.ts'
import type { AuditEntry } from './append.ts'

/** Says what a person who called an operation has done in the organization of their token. */
export function personEntry(
  { id, organizationId }: PersonPrincipal,
  address: string,
  action: string,
  about: Pick<AuditEntry, 'target' | 'details'>,
): AuditEntry {
  return { organizationId, actor: { kind: 'person', id, name: null }, action, address, outcome: 'done', ...about }
}

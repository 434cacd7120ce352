import type { PersonPrincipal } from '../../identity/guard/principal.ts'
import type { Actor } from './append.ts'

/** A person who called an operation, as the audit log names them. */
export const personActor = ({ id }: Pick<PersonPrincipal, 'id'>): Actor => ({ kind: 'person', id, name: null })

import type { PersonPrincipal, Principal } from '@berth/core/identity/guard/principal.ts'

/** Returns the person behind a request to an operation of people; the contract lets nobody else in. */
export function personOf(principal: Principal): PersonPrincipal {
  if (principal.kind !== 'person') throw new Error('an operation of people was reached by an installation')
  return principal
}

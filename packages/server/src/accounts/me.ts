import type { Identity } from '@berth/contract'
import type { Context } from '../context.ts'
import type { Handlers } from '../http/routing/handler.ts'
import type { PersonPrincipal } from '../identity/guard/principal.ts'
import type { Queryable } from '../storage/postgres/database.ts'

/** Returns the handlers of the operations that tell people who they are. */
export function identityHandlers({ db }: Context): Pick<Handlers, 'getMe'> {
  return {
    getMe: async ({ principal }) => ({ status: 200, body: await readIdentity(db, principal) }),
  }
}

/** Reads a person with the organization and membership of their token. */
export async function readIdentity(db: Queryable, principal: PersonPrincipal): Promise<Identity> {
  const { rows } = await db.query<{ email: string; name: string; organization: string }>({
    name: 'read-identity',
    text: `
      select p.email, p.name, o.name as organization
      from people p, organizations o where p.id = $1 and o.id = $2`,
    values: [principal.id, principal.organizationId],
  })
  const [found] = rows
  if (found === undefined) throw new Error('the guard let in a person who is not there')
  return {
    success: true,
    user: { id: principal.id, name: found.name, email: found.email },
    organization: { id: principal.organizationId, name: found.organization },
    membership: { id: principal.membershipId },
    organizationId: principal.organizationId,
    membershipId: principal.membershipId,
    capabilities: [...principal.capabilities, ...principal.permissions],
  }
}

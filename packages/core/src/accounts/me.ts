import type { Identity } from '@berth/contract'
import { type Queryable, queryOne, queryRow } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../context.ts'
import type { Handlers } from '../http/routing/handler.ts'
import type { PersonPrincipal, PersonProfile } from '../identity/guard/principal.ts'

/** Returns the handlers of the operations that tell people who they are. */
export function identityHandlers({ db }: Context): Pick<Handlers, 'getMe'> {
  return {
    getMe: async ({ principal }) => ({ status: 200, body: await readIdentity(db, principal) }),
  }
}

/** Reads a person with the organization and membership of their token. */
export async function readIdentity(db: Queryable, principal: PersonPrincipal): Promise<Identity> {
  const found = await readProfile(db, principal)
  return {
    success: true,
    user: { id: principal.id, name: found.name, email: found.email },
    organization: { id: principal.organizationId, name: found.organization },
    membership: { id: principal.membershipId, role: principal.role },
    organizationId: principal.organizationId,
    membershipId: principal.membershipId,
    capabilities: [...principal.capabilities, ...principal.permissions],
  }
}

/** Returns how a person is shown, in the organization of their token. */
export async function readProfile(
  db: Queryable,
  { id, organizationId, profile }: PersonPrincipal,
): Promise<PersonProfile> {
  if (profile !== undefined) return profile
  return await queryOne<PersonProfile>(db, {
    name: 'read-identity',
    text: `
      select p.email, p.name, o.name as organization
      from people p, organizations o where p.id = $1 and o.id = $2`,
    values: [id, organizationId],
  })
}

/** Returns the name and the email of a person; null if they are gone. */
export async function findPersonName(
  db: Queryable,
  personId: string,
): Promise<Pick<PersonProfile, 'name' | 'email'> | null> {
  return await queryRow<Pick<PersonProfile, 'name' | 'email'>>(db, {
    name: 'find-person-name',
    text: 'select name, email from people where id = $1',
    values: [personId],
  })
}

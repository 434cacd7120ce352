import { permissions as allPermissions, type Permission, type Role, roles } from '@berth/contract'
import { operator } from '@berth/core/accounts/audit/append.ts'
import { type IssuedLink, linkUrl } from '@berth/core/accounts/links/one-time-link.ts'
import { changeMember, type MemberKey, removeMember } from '@berth/core/accounts/organizations/change-member.ts'
import { invite } from '@berth/core/accounts/organizations/invite.ts'
import { findOrganizationOf, listMembers, type Member } from '@berth/core/accounts/organizations/memberships.ts'
import { bootstrap } from '@berth/core/accounts/people/bootstrap.ts'
import { disablePerson, enablePerson, resetPerson } from '@berth/core/accounts/people/change-person.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { requireMigrated } from '@berth/platform/storage/postgres/migrate.ts'
import { type Variables, withDatabase } from './database.ts'
import { requireEmail, requireName, translated } from './refused.ts'

/** A link to hand over to a person. */
export interface LinkToHandOver {
  readonly url: string
  readonly expiresAt: Date
}

/**
 * Makes the first organization of an empty deployment with its administrator.
 *
 * @throws StartError in one line, for an operator to correct
 */
export function bootstrapDeployment(
  variables: Variables,
  first: { readonly organization: string; readonly email: string; readonly name?: string },
): Promise<LinkToHandOver & { organizationId: string; personId: string; membershipId: string }> {
  const email = requireEmail(first.email)
  const name = requireName(first.name ?? email.slice(0, email.indexOf('@')))
  const organization = requireName(first.organization)
  return withDatabase(variables, async (db, { urls }, clock) => {
    await requireMigrated(db).catch(error => {
      throw new StartError('the database has not been set up; start the service once', { cause: error })
    })
    const { link, ...made } = await bootstrap(db, { organization, email, name }, clock.now())
    return { ...made, ...handOver(urls.authUrl, link) }
  })
}

/**
 * Invites a person to an organization.
 *
 * @throws StartError in one line, for an operator to correct
 */
export function invitePerson(
  variables: Variables,
  invited: { organizationId: string; email: string; role: string; permissions: readonly string[] },
): Promise<LinkToHandOver> {
  const { organizationId } = invited
  const email = requireEmail(invited.email)
  const granted = { role: requireRole(invited.role), permissions: invited.permissions.map(requirePermission) }
  return withDatabase(variables, async (db, { urls }, clock) => {
    const text = 'select 1 from organizations where id = $1'
    const { rows } = isUuid(organizationId) ? await db.query({ text, values: [organizationId] }) : { rows: [] }
    if (rows.length === 0) throw new StartError(`there is no organization ${organizationId}`)
    const by = { actor: operator, now: clock.now() }
    return handOver(urls.authUrl, await invite(db, { organizationId, email, ...granted }, null, by))
  })
}

/** Disables a person everywhere, or enables them again. @throws StartError */
export function setPersonEnabled(variables: Variables, email: string, enabled: boolean): Promise<void> {
  const change = enabled ? enablePerson : disablePerson
  return withDatabase(variables, (db, _, clock) => translated(change(db, email, clock.now())))
}

/** Issues a link by which a person chooses a new password. @throws StartError */
export function issuePersonReset(
  variables: Variables,
  email: string,
  forgetSecondFactor: boolean,
): Promise<LinkToHandOver> {
  return withDatabase(variables, async (db, { urls }, clock) =>
    handOver(urls.authUrl, await resetPerson(db, email, forgetSecondFactor, clock.now())),
  )
}

/** Lists the live members of an organization. @throws StartError */
export function readMembers(variables: Variables, organizationId: string): Promise<readonly Member[]> {
  if (!isUuid(organizationId)) throw new StartError(`there is no organization ${organizationId}`)
  return withDatabase(variables, db => listMembers(db, organizationId))
}

/** Gives a member another role or other permissions. @throws StartError in one line, for an operator to correct */
export function setMember(
  variables: Variables,
  membershipId: string,
  change: { readonly role?: string; readonly permissions?: readonly string[] },
): Promise<Member> {
  const { role, permissions } = change
  const checked = {
    ...(role !== undefined && { role: requireRole(role) }),
    ...(permissions !== undefined && { permissions: permissions.map(requirePermission) }),
  }
  return withMember(variables, membershipId, (db, key, now) => changeMember(db, key, checked, { actor: operator, now }))
}

/** Ends a membership. @throws StartError in one line, for an operator to correct */
export function endMember(variables: Variables, membershipId: string): Promise<void> {
  return withMember(variables, membershipId, (db, key, now) => removeMember(db, key, { actor: operator, now }))
}

function withMember<Result>(
  variables: Variables,
  membershipId: string,
  work: (db: Database, key: MemberKey, now: Date) => Promise<Result>,
): Promise<Result> {
  return withDatabase(variables, async (db, _, clock) => {
    const organizationId = await findOrganizationOf(db, membershipId)
    if (organizationId === null) throw new StartError(`there is no member ${membershipId}`)
    return translated(work(db, { organizationId, membershipId }, clock.now()))
  })
}

const handOver = (authUrl: string, link: IssuedLink): LinkToHandOver => ({
  url: linkUrl(authUrl, link),
  expiresAt: link.expiresAt,
})

function requireRole(text: string): Role {
  const role = roles.find(known => known === text)
  if (role === undefined) throw new StartError(`${text} is no role; roles are ${roles.join(' and ')}`)
  return role
}

function requirePermission(text: string): Permission {
  const permission = allPermissions.find(known => known === text)
  if (permission === undefined) throw new StartError(`${text} is no permission: ${allPermissions.join(', ')}`)
  return permission
}

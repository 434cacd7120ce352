import type { Permission, Role } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import { type Actor, appendAudit } from '../audit/append.ts'
import { endSignInsOfMembership } from '../people/person.ts'
import { listMembers, lockMembers, type Member, requireAnotherAdministrator } from './memberships.ts'

/** Who changes a member, from where, and when. */
export interface By {
  readonly actor: Actor
  readonly address?: string
  readonly now: Date
}

/** Which member is changed. */
export interface MemberKey {
  readonly organizationId: string
  readonly membershipId: string
}

/**
 * Gives a member another role, other permissions or both; they hold on the next request.
 *
 * @returns the member as changed
 * @throws ApiError 404 `membership_not_found`, 409 `last_administrator`
 */
export function changeMember(
  db: Database,
  key: MemberKey,
  change: { readonly role?: Role; readonly permissions?: readonly Permission[] },
  by: By,
): Promise<Member> {
  return db.transaction(async tx => {
    const member = await lockedMember(tx, key)
    const { role = member.role, permissions = member.permissions } = change
    if (member.role === 'admin' && role !== 'admin') {
      await requireAnotherAdministrator(tx, key.organizationId, member.personId)
    }
    await tx.query('update memberships set role = $2, permissions = $3 where id = $1', [member.id, role, permissions])
    await record(tx, key, by, 'member.changed', { role, permissions })
    return { ...member, role, permissions }
  })
}

/**
 * Ends a membership with its sign-ins; tokens of it are refused on the next request.
 *
 * @throws ApiError 404 `membership_not_found`, 409 `last_administrator`
 */
export function removeMember(db: Database, key: MemberKey, by: By): Promise<void> {
  return db.transaction(async tx => {
    const member = await lockedMember(tx, key)
    if (member.role === 'admin') await requireAnotherAdministrator(tx, key.organizationId, member.personId)
    await tx.query('update memberships set revoked_at = $2 where id = $1', [member.id, by.now])
    await endSignInsOfMembership(tx, member.id, by.now)
    await record(tx, key, by, 'member.removed', {})
  })
}

/**
 * Reads a member under the lock that all changes of members take.
 * @throws ApiError 404 `membership_not_found`
 */
export async function lockedMember(tx: Queryable, { organizationId, membershipId }: MemberKey): Promise<Member> {
  if (!isUuid(membershipId)) throw refusal('membership_not_found')
  await lockMembers(tx, organizationId)
  const [member] = await listMembers(tx, organizationId, membershipId)
  if (member === undefined) throw refusal('membership_not_found')
  return member
}

async function record(
  tx: Queryable,
  { organizationId, membershipId }: MemberKey,
  { actor, address, now }: By,
  action: string,
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  const from = address === undefined ? {} : { address }
  const target = `membership/${membershipId}`
  await appendAudit(tx, { organizationId, actor, action, target, ...from, outcome: 'done', details }, now)
}

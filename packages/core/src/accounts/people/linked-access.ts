import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { deleteHostPerson, listHostPeople } from '../../repositories/people/host-person-sql.ts'
import { deleteIdentity, listIdentities } from '../external/identity-sql.ts'

/** Something that lets its owner into an account, or lets the account act elsewhere, without the account's password. */
export type Linked =
  | { readonly kind: 'identity'; readonly issuer: string; readonly subject: string }
  | { readonly kind: 'git-account'; readonly id: string; readonly host: string; readonly login: string }

/** What a recovery, or a change of who governs an account, has ended besides every sign-in and browser session. */
export interface Ended {
  readonly linked: readonly Linked[]
  readonly secondFactor: boolean
}

/** Names one of an account's links in a form. */
export const keyOfLinked = (one: Linked): string =>
  one.kind === 'identity' ? `identity ${one.issuer} ${one.subject}` : `git-account ${one.id}`

/** Lists identities at providers and accounts at Git hosts that are linked to a person. */
export async function listLinked(db: Queryable, personId: string): Promise<readonly Linked[]> {
  const identities = await listIdentities(db, personId)
  const gitAccounts = await listHostPeople(db, personId)
  return [
    ...identities.map(({ issuer, subject }) => ({ kind: 'identity', issuer, subject }) as const),
    ...gitAccounts.map(({ id, host, login }) => ({ kind: 'git-account', id, host, login }) as const),
  ]
}

/**
 * Unlinks everything but what the person has confirmed. The caller has locked the person, so nothing is linked meanwhile.
 * An API with another database hears of it and unlinks all accounts at Git hosts that it has for the person: nobody
 * could confirm them here.
 *
 * @param confirmed keys of what stays
 * @returns what was unlinked
 */
export async function dropLinked(
  tx: Queryable,
  personId: string,
  now: Date,
  confirmed: ReadonlySet<string> = new Set(),
): Promise<readonly Linked[]> {
  const dropped = (await listLinked(tx, personId)).filter(one => !confirmed.has(keyOfLinked(one)))
  for (const one of dropped) {
    if (one.kind === 'identity') await deleteIdentity(tx, personId, one)
    else await deleteHostPerson(tx, personId, one.id)
  }
  await tx.query('update people set unlinked_at = $2 where id = $1', [personId, now])
  return dropped
}

/** Says in the audit log what has ended. */
export function endedDetails({ linked, secondFactor }: Ended): Readonly<Record<string, unknown>> {
  const count = (kind: Linked['kind']) => linked.filter(one => one.kind === kind).length
  return { identities: count('identity'), gitAccounts: count('git-account'), secondFactor }
}

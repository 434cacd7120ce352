import { randomUUID } from 'node:crypto'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendAudit } from '../audit/append.ts'
import { findDecider, insertSetupAuthority, installApp, mayInstall } from './consent-sql.ts'
import { authorizeIntent, expireIntent, findAuthorized, lockPending, type PendingIntent } from './intent-sql.ts'

/** How long an app can read the result of a consent, in milliseconds. */
const RESULT_MS = 60 * 60_000

/** Comes of a decision. `redirect` is where the person goes next; null if the app named no place. */
export type Decision =
  | { readonly kind: 'authorized'; readonly installationId: string; readonly redirect: string | null }
  | { readonly kind: 'denied'; readonly redirect: string | null }
  /** The intent is unknown, has ended, or was decided before. */
  | { readonly kind: 'gone' }
  /** The person may not decide here. */
  | { readonly kind: 'forbidden' }

/**
 * Decides an intent for a member's organization, once. The membership is read in the same transaction, so that somebody
 * who has just left decides nothing. A member who approves again what they have approved gets the same answer.
 * @param intentId the secret id
 * @param address where the person is, for the audit log
 */
export async function decideIntent(
  tx: Queryable,
  intentId: string,
  membershipId: string,
  approve: boolean,
  now: Date,
  address?: string,
): Promise<Decision> {
  const digest = credentialDigest(intentId)
  const intent = await lockPending(tx, digest, now)
  if (intent === null) return approve ? findDecided(tx, intentId, membershipId, now) : { kind: 'gone' }
  const decider = await findDecider(tx, membershipId)
  if (decider === null || !mayInstall(decider)) return { kind: 'forbidden' }
  const { organizationId, personId } = decider
  const actor = { kind: 'person', id: personId, name: null } as const
  const entry = { organizationId, actor, ...(address !== undefined && { address }) }
  const redirect = redirectOf(intent)
  if (!approve) {
    await expireIntent(tx, digest, now)
    const denied = { ...entry, action: 'intent.denied', target: `app ${intent.appSlug}`, outcome: 'refused' } as const
    await appendAudit(tx, denied, now)
    return { kind: 'denied', redirect }
  }
  const { appSlug, capabilities } = intent
  const installation = { id: randomUUID(), organizationId, appSlug, capabilities, membershipId }
  const installationId = await installApp(tx, installation, now)
  const authority = { id: randomUUID(), installationId, membershipId }
  await insertSetupAuthority(tx, authority, now)
  await authorizeIntent(tx, digest, authority.id, new Date(now.getTime() + RESULT_MS))
  const details = { app: appSlug, capabilities }
  const target = `installation ${installationId}`
  await appendAudit(tx, { ...entry, action: 'intent.authorized', target, outcome: 'done', details }, now)
  return { kind: 'authorized', installationId, redirect }
}

/** Returns what came of an intent, to the member who authorized it. @param intentId the secret id */
export async function findDecided(
  db: Queryable,
  intentId: string,
  membershipId: string,
  now: Date,
): Promise<Extract<Decision, { kind: 'authorized' | 'gone' }>> {
  const found = await findAuthorized(db, credentialDigest(intentId), membershipId, now)
  if (found === null) return { kind: 'gone' }
  return { kind: 'authorized', installationId: found.installationId, redirect: redirectOf(found) }
}

/** The redirect carries the app's own state, and neither of the ids: URLs end up in histories and logs. */
function redirectOf({ redirectUrl, state }: Pick<PendingIntent, 'redirectUrl' | 'state'>): string | null {
  if (redirectUrl === null || state === null) return redirectUrl
  return `${redirectUrl}${redirectUrl.includes('?') ? '&' : '?'}state=${encodeURIComponent(state)}`
}

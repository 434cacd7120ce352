import { createHash } from 'node:crypto'
import type { PushSubscription } from '@berth/contract'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { SubscriberKeys } from './encrypt.ts'
import type { SubscriptionRow } from './subscription-sql.ts'

/** A browser that has not repeated its subscription for so long is not pushed to: somebody may have it who signed in never again. */
export const SUBSCRIBED_MS = 30 * 24 * 3_600_000

/** Where and with which keys a browser is written to. */
export interface Subscribed extends SubscriberKeys {
  readonly endpoint: string
}

const placeOf = (id: string): string => `push-subscription/${id}`

/** Seals where and how a browser is written to. */
export const sealSubscribed = (masterKey: MasterKey, id: string, { endpoint, p256dh, auth }: Subscribed): Buffer =>
  masterKey.seal(
    JSON.stringify([endpoint, Buffer.from(p256dh).toString('base64url'), Buffer.from(auth).toString('base64url')]),
    placeOf(id),
  )

/** @throws UnsealError if another master key sealed it */
export function openSubscribed(masterKey: MasterKey, id: string, sealed: Uint8Array): Subscribed {
  const [endpoint, p256dh, auth] = JSON.parse(masterKey.open(sealed, placeOf(id)).toString()) as [
    string,
    string,
    string,
  ]
  return { endpoint, p256dh: Buffer.from(p256dh, 'base64url'), auth: Buffer.from(auth, 'base64url') }
}

/** Returns a digest that identifies an endpoint without its address. */
export const digestOf = (endpoint: string): Buffer => createHash('sha256').update(endpoint).digest()

/** Returns a subscription as its person sees it. */
export const toPushSubscription = (row: SubscriptionRow): PushSubscription => ({
  id: row.id,
  agent: row.agent,
  needsYou: row.needs_you,
  runEnded: row.run_ended,
  createdAt: row.created_at.toISOString(),
  pushedAt: row.pushed_at?.toISOString() ?? null,
  failing: row.failures > 0,
})

import type { PushSubscription as Device, PushSubscriptionList } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { viewerQuery } from '../api/identity.ts'
import { queryClient } from '../api/queries.ts'
import type { Verdict } from '../session/session-can.ts'
import { pushed, type Wishes } from './pushed.ts'

const workerPath = '/push-worker.js'

/** The browsers of the membership that are pushed to, and the key to subscribe with. */
export const devicesQuery = queryOptions({
  queryKey: ['push-subscriptions'],
  queryFn: ({ signal }) => call<PushSubscriptionList>('GET', 'push-subscriptions', undefined, signal),
})

/** Returns whether this browser can be pushed to. */
export function pushVerdict(permission: NotificationPermission | null): Verdict {
  if (!isSecureContext)
    return { allowed: false, reason: 'A browser is pushed to only by pages that are served over https.' }
  if (!('serviceWorker' in navigator && 'PushManager' in globalThis)) {
    const isApple = /\b(?:iPhone|iPad)\b/.test(navigator.userAgent)
    return {
      allowed: false,
      reason: isApple
        ? 'On an iPhone or iPad, add Berth to the home screen first, and open it from there.'
        : 'This browser has no push. A private window has none either.',
    }
  }
  if (permission === 'denied') {
    return { allowed: false, reason: 'You have refused notifications. Allow them for this page in the browser first.' }
  }
  return { allowed: true }
}

const membershipId = async () => (await queryClient.fetchQuery(viewerQuery)).membership.id

/**
 * Does one change of this browser's subscription after the other, in all its tabs: a page repeats the choice of when it
 * was loaded, and must not undo a later one.
 */
const inTurn = (work: () => Promise<void>): Promise<void> =>
  navigator.locks === undefined ? work() : navigator.locks.request('berth.push', work)

/** Has this browser pushed to, or told of other things than before. Notifications are permitted by then. */
export const turnOnPush = (wishes: Wishes): Promise<void> => inTurn(() => turnOn(wishes))

async function turnOn(wishes: Wishes): Promise<void> {
  const { publicKey } = await queryClient.fetchQuery({ ...devicesQuery, staleTime: 0 })
  const membership = await membershipId()
  const id = pushed.of(membership)?.id ?? crypto.randomUUID()
  await register(id, await subscribe(publicKey), wishes)
  pushed.set(membership, { ...wishes, id })
  // A page that repeats its subscription may have read the list before.
  await queryClient.invalidateQueries(devicesQuery)
}

/** Has a browser pushed to no longer, this one or another. */
export const turnOffPush = (id: string): Promise<void> => inTurn(() => turnOff(id))

async function turnOff(id: string): Promise<void> {
  const membership = await membershipId()
  const isOwn = pushed.of(membership)?.id === id
  // A subscription that is forgotten already is off as well.
  if ((await readDevices()).some(device => device.id === id)) await call('DELETE', `push-subscriptions/${id}`)
  if (isOwn) pushed.set(membership, null)
  // The memberships of a browser share one subscription.
  if (isOwn && !pushed.isAny()) await (await subscription())?.unsubscribe()
}

const readDevices = async (): Promise<readonly Device[]> =>
  (await queryClient.fetchQuery({ ...devicesQuery, staleTime: 0 })).subscriptions

/** Pushes a test to a browser. */
export const testPush = (id: string): Promise<null> => call('POST', `push-subscriptions/${id}/test`)

/**
 * Repeats the subscription of this browser, if there is one: a sign-in, a push service and a browser may each have ended
 * the last one.
 */
export async function repeatPush(): Promise<void> {
  if (!pushVerdict(Notification.permission).allowed || Notification.permission !== 'granted') return
  const membership = await membershipId()
  await inTurn(async () => {
    const wishes = pushed.of(membership)
    if (wishes !== null) await turnOn(wishes)
  })
}

async function register(
  id: string,
  { endpoint, keys }: PushSubscriptionJSON,
  { needsYou, runEnded }: Wishes,
): Promise<void> {
  const body = { endpoint, p256dh: keys?.['p256dh'], auth: keys?.['auth'], needsYou, runEnded }
  await call('PUT', `push-subscriptions/${id}`, body)
}

async function subscribe(publicKey: string): Promise<PushSubscriptionJSON> {
  const registration = await navigator.serviceWorker.register(trusted(workerPath))
  await navigator.serviceWorker.ready
  const known = await registration.pushManager.getSubscription()
  const key = known?.options.applicationServerKey
  if (known !== null && key !== null && key !== undefined && base64url(key) === publicKey) return known.toJSON()
  // One of an earlier deployment at this address takes nothing from this one.
  await known?.unsubscribe()
  const made = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey })
  return made.toJSON()
}

const subscription = async (): Promise<PushSubscription | null> =>
  (await (await navigator.serviceWorker.getRegistration())?.pushManager.getSubscription()) ?? null

const base64url = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')

interface Policy {
  createScriptURL(url: string): string
}

interface PolicyFactory {
  createPolicy(name: 'default', rules: Policy): Policy
}

let policy: Policy | null = null

/** Returns the path of the worker as the page's policy wants it: no other script is ever named by a string. */
function trusted(path: typeof workerPath): string {
  const { trustedTypes } = globalThis as { trustedTypes?: PolicyFactory }
  policy ??= trustedTypes?.createPolicy('default', { createScriptURL: url => (url === path ? url : '') }) ?? null
  return policy?.createScriptURL(path) ?? path
}

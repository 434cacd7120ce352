import type { SessionState } from '@berth/contract'

/**
 * So many tabs may keep a stream while nobody looks at them, each for an organization of its own: a browser has six
 * connections to an origin, and the tab in sight needs some of them.
 */
const leaders = 3

/** A tab's message to the others when somebody looks at it. */
const visible = 'looked'

let leads = false
let scope: string | null = null
/** Every tab of this browser, on any page. */
const browser = 'BroadcastChannel' in globalThis ? new BroadcastChannel('berth.looked') : null
/** The tabs that show the same membership: their feeds are the same. */
let same: BroadcastChannel | null = null

/** Returns true in the one tab that keeps the feed for all that show the same membership. */
export const isLeader = (): boolean => leads

/** Passes the feed's messages on to the other tabs of the membership. */
export function postToOthers(state: SessionState | null): void {
  if (leads) same?.postMessage(state)
}

/** Tells every tab of the browser that somebody looks at this one. */
export const postVisible = (): void => browser?.postMessage(visible)

/** The messages from other tabs. */
interface TabEvents {
  /** This tab begins to keep the feed for the others. */
  onLead(): void
  /** The leader has heard of a Session; null: read the list again. */
  onState(state: SessionState | null): void
  /** Somebody looks at another tab. */
  onVisible(): void
}

/** Joins the tabs that show a membership: their messages are for no other person and no other organization. */
export function joinTabs(membershipId: string, { onLead, onState, onVisible }: TabEvents): void {
  scope = membershipId
  browser?.addEventListener('message', onVisible)
  if ('BroadcastChannel' in globalThis) {
    same = new BroadcastChannel(`berth.live.${scope}`)
    same.addEventListener('message', ({ data }: MessageEvent<SessionState | null>) => onState(data))
  }
  void navigator.locks?.request(`berth.live.${scope}`, () =>
    heldPlace(() => {
      leads = true
      onLead()
    }),
  )
}

/** Takes the first place that is free among those of all leaders, and keeps it. */
function heldPlace(onHeld: () => void): Promise<never> {
  const found = new AbortController()
  for (let at = 0; at < leaders; at += 1) {
    navigator.locks
      .request(`berth.leader.${at}`, { signal: found.signal }, () => {
        // Two places may be given before the wait for the second ends.
        if (found.signal.aborted) return
        found.abort()
        onHeld()
        return new Promise(() => {})
      })
      .catch(() => {
        // Another place was free earlier.
      })
  }
  return new Promise(() => {})
}

/** Holds a lock, shared, for as long as somebody can see this tab. */
export function holdWhileVisible(): void {
  let release: (() => void) | null = null
  const check = () => {
    if (document.visibilityState !== 'visible') {
      release?.()
      release = null
    } else if (release === null) {
      const held = new Promise<void>(resolve => (release = resolve))
      void navigator.locks?.request(`berth.in-sight.${scope}`, { mode: 'shared' }, () => held)
    }
  }
  document.addEventListener('visibilitychange', check)
  check()
}

/** Returns true if somebody can see a tab of the membership. */
export async function isVisible(): Promise<boolean> {
  const { held = [] } = await navigator.locks.query()
  return held.some(({ name }) => name === `berth.in-sight.${scope}`)
}

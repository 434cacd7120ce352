import { BerthConnectionError, defaultPlatform, followLive } from '@berth/client'
import { browserFetch, toBerthError } from '../api/client.ts'
import { type FeedSink, LiveConnection, type OpenLive } from './live-connection.ts'
import { holdWhileVisible, isLeader, joinTabs, postToOthers, postVisible } from './tabs.ts'

/**
 * A tab that nobody has looked at for so long gives its stream back, and at once if another tab is looked at: a browser
 * has six connections for all tabs together.
 */
const restAfterMs = 60_000

/** The stream of this tab. If it leads, the tabs that rest hear every change from it. */
export const live: LiveConnection = new LiveConnection(openStream, postToOthers)

function openStream(...[request, signal, onState]: Parameters<OpenLive>): ReturnType<OpenLive> {
  return followLive({
    open: async ({ signal: call }) => {
      const { feed, sessions } = request()
      const query = new URLSearchParams([
        ...(feed ? [['feed', '1']] : []),
        ...sessions.map(({ sessionId, after }) => ['session', `${sessionId}:${after}`]),
      ])
      const path = `/cloud/live?${query}`
      const response = await browserFetch(path, {
        headers: { accept: 'text/event-stream' },
        cache: 'no-store',
        ...(call === undefined ? {} : { signal: call }),
      }).catch(cause => {
        // A service that restarts takes no connection for a moment. That passes, unlike other failures here.
        throw new BerthConnectionError(path, 'the live stream did not open', { cause })
      })
      if (!response.ok) throw await toBerthError(response)
      return response
    },
    platform: { ...defaultPlatform, fetch: browserFetch },
    signal,
    onOpen: () => onState(true),
    onInterruption: ({ fault }) => onState(fault === null),
  })
}

/** Follows the changes of all Sessions, in this tab or through the one that leads. */
export const followFeed = (sink: FeedSink): (() => void) => live.followFeed(sink)

let resting: ReturnType<typeof setTimeout> | undefined

function check(): void {
  clearTimeout(resting)
  if (document.visibilityState === 'visible') {
    live.rest(false)
    postVisible()
  } else if (isLeader()) live.rest(false)
  else resting = setTimeout(() => live.rest(true), restAfterMs)
}

let minded = false

/** Shares the stream with the tabs that show the same membership, from the first call on. */
export function shareLive(membershipId: string): void {
  if (minded) return
  minded = true
  const isHidden = () => document.visibilityState !== 'visible'
  joinTabs(membershipId, {
    onLead: check,
    onState: state => {
      if (isHidden()) live.hear(state)
    },
    onVisible: () => {
      if (isHidden() && !isLeader()) live.rest(true)
    },
  })
  holdWhileVisible()
  document.addEventListener('visibilitychange', check)
  // A machine that slept has a dead connection; the watchdog would find out much later.
  addEventListener('online', () => live.renew())
  check()
}

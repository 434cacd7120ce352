import type { SessionState } from '@berth/contract'
import { viewerQuery } from '../api/identity.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { followFeed } from '../live/live.ts'
import { KnownStates } from './known-states.ts'
import { isOwn, type ListData, withState } from './list-data.ts'
import { type ListKey, searchOf } from './queries.ts'

/** A list is read whole at most so often: each time takes four requests of the person's 600 a minute. */
const betweenReadsMs = 3_000

let readAt = 0
let reading = false
let following = false

/** Takes a Session's new state, and the one that the page knew. */
type StateListener = (before: SessionState | undefined, after: SessionState) => void

const listeners = new Set<StateListener>()
const known = new KnownStates()

/** Calls back whenever the feed, or a list that was read anew, tells of a Session. */
export function onSessionState(listener: StateListener): void {
  listeners.add(listener)
}

/** Keeps every list of Sessions true while the page is open, from the first call on. */
export function followLists(): void {
  if (following) return
  following = true
  followFeed(state => {
    if (state === null) return readLists()
    const change = known.received(state)
    updateLists(state)
    if (change !== null) for (const listener of listeners) listener(change.before, state)
  })
  const cache = queryClient.getQueryCache()
  for (const { state } of cache.findAll({ queryKey: ['sessions'] })) noteRead(state.data)
  cache.subscribe(event => {
    // A change that this tab has put into a list itself is no news.
    if (event.type !== 'updated' || event.action.type !== 'success' || event.action.manual === true) return
    if (event.query.queryKey[0] === 'sessions') noteRead(event.query.state.data)
  })
}

/** A break of the stream hides changes from the feed, and the list that is read after it has them. */
function noteRead(data: unknown): void {
  for (const { state } of (data as ListData | undefined)?.pages.flatMap(page => page.sessions) ?? []) {
    const change = known.read(state)
    if (change !== null) for (const listener of listeners) listener(change.before, state)
  }
}

/** Puts a Session's new state into every list; lists that do not have the Session ask whether they should. */
export function updateLists(state: SessionState): void {
  // Its log does not tell the end of a seal, nor that its changes were read.
  const { queryKey } = sessionQuery(state.id)
  const page = queryClient.getQueryData(queryKey)
  if (page !== undefined && page.status !== state.status) {
    void queryClient.invalidateQueries({ queryKey, exact: true })
  }
  for (const query of queryClient.getQueryCache().findAll({ queryKey: ['sessions'] })) {
    const data = query.state.data as ListData | undefined
    // An answer that is under way may be older than this change, and would undo it.
    if (query.state.fetchStatus === 'fetching') readLists()
    if (data === undefined) continue
    const key = query.queryKey as ListKey
    const changed = withState(data, state)
    if (changed !== null) queryClient.setQueryData(key, changed)
    else if (!(searchOf(key).everyone || isOwn(state, viewerId()))) continue
    else if (query.isActive()) void miss(query.queryHash, key, state)
    else void queryClient.invalidateQueries({ queryKey: key, exact: true, refetchType: 'none' })
  }
}

const viewerId = () => queryClient.getQueryData(viewerQuery.queryKey)?.user.id ?? ''

async function miss(...what: readonly [hash: string, key: ListKey, state: SessionState]): Promise<void> {
  try {
    const missing = await import('./missing.ts')
    missing.miss(...what, viewerId, readLists)
  } catch {
    // A newer page has other files.
    readLists()
  }
}

function readLists(): void {
  if (reading) return
  reading = true
  const read = async () => {
    // The first read of a list is never begun anew, and its answer may be older than the reason to read it again.
    const begun = queryClient.getQueryCache().findAll({ queryKey: ['sessions'] })
    await Promise.allSettled(begun.map(query => (query.state.data === undefined ? query.promise : undefined)))
    reading = false
    readAt = Date.now()
    void queryClient.invalidateQueries({ queryKey: ['sessions'] })
  }
  setTimeout(read, Math.max(0, readAt + betweenReadsMs - Date.now()))
}

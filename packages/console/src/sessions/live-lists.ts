import type { SessionState } from '@berth/contract'
import { viewerQuery } from '../api/identity.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { followFeed } from '../live/live.ts'
import { KnownStates } from './known-states.ts'
import { isOwn, type ListData, recounted, withSessions, withState } from './list-data.ts'
import { countRest, type ListKey, readListed, searchOf } from './queries.ts'

/** Sessions that a list does not have yet are read a moment later, all that have changed by then at once. */
const gatherMs = 250
/** From so many on, the list is read again instead of each of them. */
const manySessions = 4
/** A list is read whole at most so often: each time takes four requests of the person's 600 a minute. */
const betweenReadsMs = 3_000

/** The members that each list lacks, by its hash, and by a Session's id the state that decides about it. */
const missing = new Map<string, { readonly key: ListKey; readonly sessions: Map<string, string> }>()
/** Sessions that the service has placed in no list; an active Session changes many times a second. */
const strangers = new Set<string>()
const manyStrangers = 2_000
let gathering = false
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
    else if (query.isActive()) miss(query.queryHash, key, state)
    else void queryClient.invalidateQueries({ queryKey: key, exact: true, refetchType: 'none' })
  }
}

const viewerId = () => queryClient.getQueryData(viewerQuery.queryKey)?.user.id ?? ''

function miss(hash: string, key: ListKey, state: SessionState): void {
  const stranger = JSON.stringify([hash, state.id, state.title, state.status, state.archived])
  if (strangers.has(stranger)) return
  const known = missing.get(hash) ?? { key, sessions: new Map<string, string>() }
  known.sessions.set(state.id, stranger)
  missing.set(hash, known)
  if (gathering) return
  gathering = true
  setTimeout(() => {
    gathering = false
    const gathered = [...missing.values()]
    missing.clear()
    for (const { key, sessions } of gathered) void readMissing(key, sessions)
  }, gatherMs)
}

async function readMissing(key: ListKey, sessions: ReadonlyMap<string, string>): Promise<void> {
  if (sessions.size > manySessions) return readLists()
  try {
    const found = (await Promise.all([...sessions.keys()].map(id => readListed(key, id)))).flat()
    if (strangers.size > manyStrangers) strangers.clear()
    for (const [id, stranger] of sessions) if (!found.some(({ session }) => session.id === id)) strangers.add(stranger)
    if (found.length === 0) return
    queryClient.setQueryData<ListData>(key, data => data && withSessions(data, found))
    // Whether the rest had counted them is not known.
    if (queryClient.getQueryData<ListData>(key)?.pages.at(-1)?.nextCursor == null) return
    const total = await countRest(key)
    queryClient.setQueryData<ListData>(key, data => data && recounted(data, searchOf(key), viewerId(), total))
  } catch {
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

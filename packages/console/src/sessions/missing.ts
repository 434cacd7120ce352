import type { SessionState } from '@berth/contract'
import { queryClient } from '../api/queries.ts'
import { recounted, withSessions } from './list-additions.ts'
import type { ListData, ListedSession } from './list-data.ts'
import { type ListKey, type Parameters, readList, rest, searchOf } from './queries.ts'

/** Sessions that a list does not have yet are read a moment later, all that have changed by then at once. */
const gatherMs = 250
/** From so many on, the list is read again instead of each of them. */
const manySessions = 4
/** The members that each list lacks, by its hash, and by a Session's id the state that decides about it. */
const missing = new Map<string, { readonly key: ListKey; readonly sessions: Map<string, string> }>()
/** Sessions that the service has placed in no list; an active Session changes many times a second. */
const strangers = new Set<string>()
const manyStrangers = 2_000
let gathering = false

/**
 * Asks a moment later whether a list has a Session that it lacks, and puts it there.
 *
 * @param viewerId returns the id of the person in front of the page
 * @param readLists reads every list again
 */
export function miss(
  hash: string,
  key: ListKey,
  state: SessionState,
  viewerId: () => string,
  readLists: () => void,
): void {
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
    for (const { key, sessions } of gathered) void readMissing(key, sessions, viewerId, readLists)
  }, gatherMs)
}

async function readMissing(
  key: ListKey,
  sessions: ReadonlyMap<string, string>,
  viewerId: () => string,
  readLists: () => void,
): Promise<void> {
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

/** Reads one Session as everyone's list of this key has it; none if its filters leave it out. */
async function readListed(key: ListKey, id: string): Promise<readonly ListedSession[]> {
  const { mine: _, ...filters } = key[1] as Parameters
  return (await readList({ ...filters, q: `${filters['q'] ?? ''} ${id}`.trim(), limit: '1' }, undefined)).sessions
}

/** Counts the Sessions that neither wait, work nor are pinned. */
async function countRest(key: ListKey): Promise<number> {
  const filters = key[1] as Parameters
  const isSplit = filters['state'] === undefined && filters['archived'] === undefined
  const page = await readList({ ...filters, ...(isSplit ? rest : {}), limit: '1', counted: '1' }, undefined)
  return page.sessions.length + (page.remaining ?? 0)
}

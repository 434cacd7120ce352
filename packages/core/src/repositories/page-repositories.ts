import type { MissingAccount, Repository, RepositoryPage } from '@berth/contract'
import type { Context } from '../context.ts'
import { type ExpansionBounds, expand, expansionBounds, toMissing } from './expand-grants.ts'
import type { ConnectionRow } from './grant.ts'
import { type Grantee, listConnections } from './grant-sql.ts'
import { decodeStart, encodeStart, hasRoom, type RepositoryPlace } from './repository-cursor.ts'

/** A connection with the place from which it is read. */
interface Visit {
  readonly connection: ConnectionRow
  readonly place: RepositoryPlace
}

/**
 * Returns a page of the repositories that an installation's connections reach now, live from the hosts; with `q` only
 * those whose `owner/name` has it.
 *
 * A host that does not answer in time hides no other's repositories: the page names its account and passes over it, and
 * the list comes back to it once, after all others, as far as the cursor has room for such accounts. A request that has spent its time or its calls returns the
 * repositories that it has, and a cursor to continue from. Only the end of every connection ends the list.
 */
export async function pageRepositories(
  context: Context,
  grantee: Grantee,
  { limit, cursor, q = '' }: { readonly limit: number; readonly cursor?: string; readonly q?: string },
  bounds: ExpansionBounds = expansionBounds,
): Promise<RepositoryPage> {
  const start = cursor === undefined ? null : decodeStart(cursor)
  const again = start?.again === true
  const connections = await listConnections(context.db, grantee, again ? null : (start?.at.connectionId ?? null))
  const visits = again
    ? visitsOf(connections, [start.at, ...start.late])
    : connections.map(connection => ({ connection, place: placeIn(connection, start?.at ?? null) }))
  const late: RepositoryPlace[] = again ? [] : [...(start?.late ?? [])]
  const repositories: Repository[] = []
  const missing: MissingAccount[] = []
  const page = (next: string | null, hasMore: boolean): RepositoryPage => ({
    repositories,
    nextCursor: next,
    hasMore,
    ...(missing.length > 0 && { missing }),
  })
  const total = AbortSignal.timeout(bounds.totalMs)
  const wanted = q.toLowerCase()
  let calls = 0
  for (const [index, { connection, place }] of visits.entries()) {
    const stopAt = (at: RepositoryPlace) => {
      const rest = again ? visits.slice(index + 1).map(visit => visit.place) : late
      return page(encodeStart({ at, late: rest, again }), true)
    }
    for (let at: RepositoryPlace | null = place; at !== null; ) {
      if (repositories.length >= limit || calls >= bounds.calls || total.aborted) return stopAt(at)
      calls += 1
      const call = AbortSignal.timeout(bounds.callMs)
      const listed = await expand(context, connection, at.from, AbortSignal.any([total, call]))
      if ('failure' in listed) {
        // The request's own time is over, which says nothing of the host.
        if (total.aborted && !call.aborted && calls > 1) return stopAt(at)
        const retried = listed.failure !== 'refused' && !again && hasRoom([...late, at])
        missing.push(toMissing(connection, listed.failure, retried))
        if (retried) late.push(at)
        break
      }
      const entries = listed.entries.filter(({ fullName }) => fullName.toLowerCase().includes(wanted))
      const taken = entries.slice(at.skip, at.skip + limit - repositories.length)
      repositories.push(...taken)
      const skip: number = at.skip + taken.length
      if (skip < entries.length) return stopAt({ ...at, skip })
      at = listed.next === null ? null : { connectionId: connection.id, from: listed.next, skip: 0 }
    }
  }
  const [first, ...rest] = late
  if (first !== undefined) return page(encodeStart({ at: first, late: rest, again: true }), true)
  return page(connections.length > 0 && repositories.length > 0 ? afterAll : null, false)
}

const placeIn = ({ id }: ConnectionRow, at: RepositoryPlace | null): RepositoryPlace =>
  at?.connectionId === id ? at : { connectionId: id, from: null, skip: 0 }

/** Leaves out connections that have ended since. */
function visitsOf(connections: readonly ConnectionRow[], places: readonly RepositoryPlace[]): Visit[] {
  return places.flatMap(place => {
    const connection = connections.find(({ id }) => id === place.connectionId)
    return connection === undefined ? [] : [{ connection, place }]
  })
}

/** Cursor of a last page that is not empty; an empty page follows it. */
const afterAll = encodeStart({
  at: { connectionId: 'ffffffff-ffff-ffff-ffff-ffffffffffff', from: null, skip: 0 },
  late: [],
  again: false,
})

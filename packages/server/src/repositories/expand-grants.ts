import { randomUUID } from 'node:crypto'
import type { Repository, RepositoryPage } from '@berth/contract'
import type { Context } from '../context.ts'
import { GitHostError, type HostRepository } from '../git-hosts/git-host.ts'
import type { ConnectionRow } from './grant.ts'
import { findGranted, type Grantee, listConnections, upsertGrants } from './grant-sql.ts'
import { decodePlace, encodePlace, type RepositoryPlace } from './repository-cursor.ts'

/** Repositories asked of a host at once; the same for every request, so that a cursor keeps its meaning. */
const HOST_PAGE = 100

/** Bounds of one request. */
export interface ExpansionBounds {
  readonly totalMs: number
  readonly callMs: number
  readonly calls: number
}

export const expansionBounds: ExpansionBounds = { totalMs: 10_000, callMs: 4_000, calls: 10 }

/**
 * Returns a page of the repositories that an installation's connections reach now, live from the hosts; with `q` only
 * those whose `owner/name` has it. It passes over
 * a host that does not answer in time, so such a host hides no other's repositories. A request that has spent its time
 * or its calls returns the repositories that it has, and a cursor to continue from.
 */
export async function pageRepositories(
  context: Context,
  grantee: Grantee,
  { limit, cursor, q = '' }: { readonly limit: number; readonly cursor?: string; readonly q?: string },
  bounds: ExpansionBounds = expansionBounds,
): Promise<RepositoryPage> {
  let place: RepositoryPlace | null = cursor === undefined ? null : decodePlace(cursor)
  const connections = await listConnections(context.db, grantee, place?.connectionId ?? null)
  const late = AbortSignal.timeout(bounds.totalMs)
  const repositories: Repository[] = []
  const page = (next: RepositoryPlace | null): RepositoryPage => ({
    repositories,
    nextCursor: next === null ? endCursor(repositories, connections) : encodePlace(next),
    hasMore: next !== null,
  })
  const wanted = q.toLowerCase()
  let calls = 0
  for (const connection of connections) {
    let at: RepositoryPlace = { connectionId: connection.id, from: null, skip: 0 }
    if (place?.connectionId === connection.id) at = place
    place = null
    for (;;) {
      if (repositories.length >= limit || calls >= bounds.calls || late.aborted) return page(at)
      calls += 1
      const listed = await expand(
        context,
        connection,
        at.from,
        AbortSignal.any([late, AbortSignal.timeout(bounds.callMs)]),
      )
      if (listed === null) break
      const entries = listed.entries.filter(({ fullName }) => fullName.toLowerCase().includes(wanted))
      const taken = entries.slice(at.skip, at.skip + limit - repositories.length)
      repositories.push(...taken)
      const skip = at.skip + taken.length
      if (skip < entries.length) return page({ ...at, skip })
      if (listed.next === null) break
      at = { connectionId: connection.id, from: listed.next, skip: 0 }
    }
  }
  return page(null)
}

/** Returns the cursor of a last page. One that is not empty still has a cursor; an empty page follows it. */
function endCursor(repositories: readonly Repository[], connections: readonly ConnectionRow[]): string | null {
  const last = connections.at(-1)
  if (repositories.length === 0 || last === undefined) return null
  return encodePlace({ connectionId: AFTER_ALL, from: null, skip: 0 })
}

const AFTER_ALL = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * Grants the repositories that whole connections show first, so that a new installation's first list of grants is not
 * empty.
 */
export async function grantWhole(context: Context, grantee: Grantee, bounds = expansionBounds): Promise<void> {
  const connections = await listConnections(context.db, grantee, null)
  const signal = AbortSignal.timeout(bounds.callMs)
  const whole = connections.filter(connection => connection.whole).slice(0, bounds.calls)
  await Promise.all(whole.map(connection => expand(context, connection, null, signal)))
}

interface Expanded {
  readonly entries: readonly Repository[]
  readonly next: string | null
}

/** Reads one page of a connection's host; returns null if the host does not give it. */
async function expand(
  context: Context,
  connection: ConnectionRow,
  from: string | null,
  signal: AbortSignal,
): Promise<Expanded | null> {
  const { db, clock, gitHosts, log } = context
  try {
    const host = gitHosts.find(connection.host)
    if (host === null) throw new GitHostError('not_found', `there is no host ${connection.host}`)
    const listing = await host.listRepositories(connection.account, { limit: HOST_PAGE, from }, signal)
    if (connection.whole) {
      const seen = listing.repositories.map(({ repositoryId, fullName }) => ({
        id: randomUUID(),
        repositoryId,
        fullName,
      }))
      await upsertGrants(db, connection, seen, clock.now())
    }
    const ids = listing.repositories.map(({ repositoryId }) => repositoryId)
    const granted = new Map((await findGranted(db, connection.id, ids)).map(row => [row.repository_id, row.id]))
    const entries = listing.repositories.flatMap(repository => toEntry(repository, connection, granted))
    return { entries, next: listing.next }
  } catch (error) {
    if (!(error instanceof GitHostError) && !signal.aborted) throw error
    log.warn({ err: error, connectionId: connection.id }, 'could not list the repositories of a Git host')
    return null
  }
}

function toEntry(
  { repositoryId, fullName, private: isPrivate, defaultBranch, htmlUrl }: HostRepository,
  { provider }: ConnectionRow,
  granted: ReadonlyMap<string, string>,
): Repository[] {
  const grantId = granted.get(repositoryId)
  return grantId === undefined
    ? []
    : [{ grantId, repositoryId, provider, fullName, private: isPrivate, defaultBranch, htmlUrl }]
}

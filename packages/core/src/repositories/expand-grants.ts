import { randomUUID } from 'node:crypto'
import type { MissingAccount, missingReasons, Repository } from '@berth/contract'
import type { Context } from '../context.ts'
import { GitHostError, type HostRepository } from '../git-hosts/git-host.ts'
import type { ConnectionRow } from './grant.ts'
import { findGranted, type Grantee, listConnections, upsertGrants } from './grant-sql.ts'

/** Repositories asked of a host at once; the same for every request, so that a cursor keeps its meaning. */
const HOST_PAGE = 100

/** Bounds of one request. */
export interface ExpansionBounds {
  readonly totalMs: number
  readonly callMs: number
  readonly calls: number
}

export const expansionBounds: ExpansionBounds = { totalMs: 10_000, callMs: 4_000, calls: 10 }

type MissingReason = (typeof missingReasons)[number]

/** A page of a connection's host, or why the host did not give it. */
export type Expanded =
  | { readonly entries: readonly Repository[]; readonly next: string | null }
  | { readonly failure: MissingReason }

/**
 * Grants every repository of whole connections, so that a new installation's first list of grants is not empty.
 * @returns the accounts of which repositories may be missing: a host did not answer, or has more than one request reads
 */
export async function grantWhole(
  context: Context,
  grantee: Grantee,
  bounds = expansionBounds,
): Promise<MissingAccount[]> {
  const connections = await listConnections(context.db, grantee, null)
  const total = AbortSignal.timeout(bounds.totalMs)
  let calls = 0
  const grantAll = async (connection: ConnectionRow): Promise<MissingAccount[]> => {
    for (let from: string | null = null; ; ) {
      if (calls >= bounds.calls || total.aborted) return [toMissing(connection, 'late')]
      calls += 1
      const call = AbortSignal.timeout(bounds.callMs)
      const listed: Expanded = await expand(context, connection, from, AbortSignal.any([total, call]))
      if ('failure' in listed) return [toMissing(connection, listed.failure)]
      if (listed.next === null) return []
      from = listed.next
    }
  }
  return (await Promise.all(connections.filter(({ whole }) => whole).map(grantAll))).flat()
}

/** Returns the account of a connection as one that an answer lacks. */
export const toMissing = (
  { provider, account_login: accountLogin }: ConnectionRow,
  reason: MissingReason,
  retried = false,
): MissingAccount => ({ provider, accountLogin, reason, retried })

/** Reads one page of a connection's host. */
export async function expand(
  context: Context,
  connection: ConnectionRow,
  from: string | null,
  signal: AbortSignal,
): Promise<Expanded> {
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
    return { failure: signal.aborted ? 'late' : failureOf(error as GitHostError) }
  }
}

function failureOf({ kind }: GitHostError): MissingReason {
  return kind === 'rate_limited' || kind === 'unavailable' ? kind : 'refused'
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

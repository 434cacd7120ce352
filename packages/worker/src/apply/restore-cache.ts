import { type RestoreRefusal, RestoreRefused } from '@berth/core/checkpoints/errors.ts'
import { CACHE_KEPT_MS } from '@berth/core/environments/cache/cache-key.ts'
import { type CacheRow, dropCache, listCaches, useCache } from '@berth/core/environments/cache/cache-sql.ts'
import { restoreCache } from '@berth/core/environments/cache/cache-trees.ts'
import type { ApplyParts, ApplyStep } from './apply-parts.ts'
import { cacheOf, type LeaseCache, placeOf, withoutFailing } from './cache-parts.ts'

/** A Git host that does not answer in this time costs the cache of its default branch. */
const HOST_MS = 10_000

/** Refusals because of what was saved; the others come from this host, its sandbox or the store. */
const damages: ReadonlySet<RestoreRefusal> = new Set(['missing', 'corrupt', 'malformed', 'over_limit'])

const reasons: Readonly<Partial<Record<RestoreRefusal, string>>> = {
  missing: 'a part of it is missing in the store',
  corrupt: 'a part of it is damaged',
  malformed: 'it is malformed',
  over_limit: 'it is over the bounds of a cache',
  target_full: "it does not fit on the sandbox's disk",
}

/** Puts the saved cache into the sandbox: that of the launch repository's branch, or else of its default branch. */
export const restoreCacheStep: ApplyStep = {
  name: 'restore-cache',
  isDue: ({ cache }) => cache.paths.length > 0,
  run(parts, signal) {
    let isFound = false
    return withoutFailing(
      parts,
      signal,
      async within => {
        const cache = await cacheOf(parts)
        const found = await findCache(parts, cache, within)
        if (found === null) return { cache: 'miss' }
        isFound = true
        await restore(parts, cache, found, within)
        return { cache: 'hit' }
      },
      error => (isFound ? { cache: 'discarded', cacheDiscarded: { reason: reasonOf(error) } } : { cache: 'miss' }),
    )
  },
}

async function findCache({ context }: ApplyParts, cache: LeaseCache, signal: AbortSignal): Promise<CacheRow | null> {
  const { scope, branch, source } = cache
  const rows = await listCaches(context.db, scope, new Date(context.clock.now().getTime() - CACHE_KEPT_MS))
  const own = rows.find(row => row.branch === branch)
  if (own !== undefined || rows.length === 0 || source === null) return own ?? null
  const { host, repository } = source
  const { defaultBranch } = await host.readRepository(
    repository,
    AbortSignal.any([signal, AbortSignal.timeout(HOST_MS)]),
  )
  return rows.find(row => row.branch === defaultBranch) ?? null
}

async function restore(parts: ApplyParts, { scope }: LeaseCache, found: CacheRow, signal: AbortSignal): Promise<void> {
  const { db, clock } = parts.context
  await useCache(db, scope, found.branch, clock.now())
  try {
    await restoreCache(placeOf(parts, signal), found)
  } catch (error) {
    if (error instanceof RestoreRefused && damages.has(error.code)) await dropCache(db, scope, found)
    throw error
  }
}

function reasonOf(error: unknown): string {
  const known = error instanceof RestoreRefused ? reasons[error.code] : undefined
  return known ?? (isTimeout(error) ? 'it could not be restored in time' : 'it could not be restored')
}

const isTimeout = (error: unknown) => error instanceof DOMException && error.name === 'TimeoutError'

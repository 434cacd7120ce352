import { createHash } from 'node:crypto'
import { CACHE_KEPT_MS } from '@berth/core/environments/cache/cache-key.ts'
import { type CacheRow, listCaches, putCache, useCache } from '@berth/core/environments/cache/cache-sql.ts'
import { sealCache } from '@berth/core/environments/cache/cache-trees.ts'
import type { ApplyReport } from '@berth/core/sessions/leases/apply-report.ts'
import { listSecretValues, sessionRedactor } from '@berth/core/sessions/log/session-redactor.ts'
import { wholeForms } from '@berth/platform/kit/redactor.ts'
import { underFence } from '../claim/under-fence.ts'
import type { ApplyParts, ApplyStep } from './apply-parts.ts'
import { cacheOf, placeOf, withoutFailing } from './cache-parts.ts'
import { whileFrozen } from './while-frozen.ts'

/**
 * Saves the cached paths for the next fresh sandbox. No agent has run here before: nothing of one may reach another
 * Session by a cache. So a sandbox into which a checkpoint was restored saves nothing.
 */
export const saveCacheStep: ApplyStep = {
  name: 'save-cache',
  isDue: ({ cache }) => cache.paths.length > 0,
  async run(parts, signal) {
    if (parts.restored) return {}
    return withoutFailing(
      parts,
      signal,
      within => whileFrozen(parts, signal, () => save(parts, within)),
      () => ({}),
    )
  },
}

async function save(parts: ApplyParts, signal: AbortSignal): Promise<Partial<ApplyReport>> {
  const { context, claim, lease } = parts
  const { db, clock } = context
  const { scope, branch } = await cacheOf(parts)
  const searched = digestOfSecrets(parts)
  const rows = await listCaches(db, scope, new Date(clock.now().getTime() - CACHE_KEPT_MS))
  // Without a baseline in this sandbox, which only a restore of exactly this cache leaves, everything is read.
  const previous = latest(
    rows.filter(row => row.searched.equals(searched)),
    branch,
  )
  const secrets = (await listSecretValues(db, claim)).flatMap(wholeForms)
  const sealed = await sealCache(placeOf(parts, signal), secrets, previous)
  if (sealed.kind !== 'sealed') {
    context.log.info({ leaseId: lease.id, reason: sealed.kind }, 'the cache of an environment was not saved')
    const path = (await sessionRedactor(db, claim)).text(sealed.path)
    return { cache: `skipped_${sealed.kind}`, cacheSkip: { reason: sealed.kind, path } }
  }
  const { home_manifest, workspace_manifest } = sealed
  if (home_manifest === null && workspace_manifest === null) return {}
  const own = rows.find(row => row.branch === branch)
  const isKnown = own?.home_manifest === home_manifest && own.workspace_manifest === workspace_manifest
  await underFence(context, claim, tx => {
    const now = clock.now()
    if (isKnown && own.searched.equals(searched)) return useCache(tx, scope, branch, now)
    return putCache(tx, scope, { ...sealed, branch, searched, saved_at: now })
  })
  return {}
}

/** Returns the cache that this sandbox was most likely restored from. */
function latest(rows: readonly CacheRow[], branch: string): CacheRow | null {
  return rows.find(row => row.branch === branch) ?? rows[0] ?? null
}

/**
 * Returns a digest of the environment's secrets. Tokens are no part of it: no earlier lease had those of this one, so no
 * earlier content holds them.
 */
function digestOfSecrets({ lease }: ApplyParts): Buffer {
  const digests = (lease.environment_secrets ?? []).map(({ digest }) => digest).sort()
  return createHash('sha256').update(JSON.stringify(digests)).digest()
}

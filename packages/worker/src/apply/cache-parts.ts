import { cacheKey, thisMachine } from '@berth/core/environments/cache/cache-key.ts'
import type { CacheScope } from '@berth/core/environments/cache/cache-sql.ts'
import type { CachePlace } from '@berth/core/environments/cache/cache-trees.ts'
import { gitReaderOf } from '@berth/core/repositories/git-reader.ts'
import { type ReachedSource, reachSource } from '@berth/core/repositories/resolve-source.ts'
import type { ApplyReport } from '@berth/core/sessions/leases/apply-report.ts'
import { findSession } from '@berth/core/sessions/session/session-sql.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { treeOf } from '@berth/sandboxes/tree.ts'
import { ClaimLost } from '../claim/claim.ts'
import { isSandboxLost } from '../supervisor/errors.ts'
import type { ApplyParts } from './apply-parts.ts'

/** A cache that takes longer to restore or to save is given up, so that no store can hold a Session up for ever. */
const CACHE_MS = 5 * 60_000

/** The cache that a lease may read and write. */
export interface LeaseCache {
  readonly scope: CacheScope
  /** The branch that it writes; '' without a launch repository. */
  readonly branch: string
  /** The launch repository; null without one. */
  readonly source: ReachedSource | null
}

/**
 * Returns the cache of a lease.
 * @throws ApiError if the launch repository is no longer granted
 */
export async function cacheOf({ context, claim, document, lease }: ApplyParts): Promise<LeaseCache> {
  const { organizationId } = claim
  const { environment_id: environmentId } = lease
  const session = await findSession(context.db, claim)
  if (session === null || environmentId === null) throw new Error(`lease ${lease.id} has no environment`)
  const grantee = { organizationId, installationId: session.owner_id }
  const source = session.source === null ? null : await reachSource(context, grantee, session.source)
  const repository = source && JSON.stringify([source.grant.host, source.repository.repositoryId])
  const machine = { kind: context.driver.kind, machine: thisMachine }
  return {
    scope: {
      organizationId,
      environmentId,
      key: cacheKey(document.cache.paths, repository, machine, document.github ? gitReaderOf(session) : null),
    },
    branch: session.source?.baseBranch ?? '',
    source,
  }
}

/** Returns a lease's trees, with baselines of what is cached of them: those of its checkpoints are others. */
export function placeOf({ context, document, lease }: ApplyParts, signal: AbortSignal): CachePlace {
  const { blobs, checkpointLimits, driver } = context
  const trees = {
    home: treeOf(driver, lease.id, 'home', 'cache-home'),
    workspace: treeOf(driver, lease.id, 'workspace', 'cache-workspace'),
  }
  return { trees, blobs, paths: document.cache.paths, limits: checkpointLimits.cache, signal }
}

/**
 * Does the work of a cache within its time. A failure is logged and fails no apply.
 * @param work gets a signal that also ends when the time is over
 * @param instead the result after a failure
 * @throws ClaimLost, DatabaseUnavailable, the reason of `signal`, and whatever says that the sandbox is lost
 */
export async function withoutFailing(
  { context, claim, lease }: ApplyParts,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Partial<ApplyReport>>,
  instead: (error: unknown) => Partial<ApplyReport>,
): Promise<Partial<ApplyReport>> {
  try {
    return await work(AbortSignal.any([signal, AbortSignal.timeout(CACHE_MS)]))
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ClaimLost || error instanceof DatabaseUnavailable || isSandboxLost(error)) throw error
    const fields = { err: error, sessionId: claim.sessionId, leaseId: lease.id }
    context.log.warn(fields, 'the cache of an environment could not be used')
    return instead(error)
  }
}

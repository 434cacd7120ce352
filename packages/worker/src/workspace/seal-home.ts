import { SealFailed } from '@berth/core/checkpoints/errors.ts'
import { homeRules } from '@berth/core/checkpoints/home-rules.ts'
import { measureTree } from '@berth/core/checkpoints/measure-tree.ts'
import type { OverCap } from '@berth/core/checkpoints/over-cap.ts'
import { type SealedTree, type SealOptions, sealTree } from '@berth/core/checkpoints/seal-tree.ts'
import { pathsIn } from '@berth/core/environments/cache/cache-trees.ts'
import { readFixedDocument } from '@berth/core/environments/fix-environment.ts'
import type { RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import { isHostAway } from '@berth/sandboxes/line/line-error.ts'
import { treeOf } from '@berth/sandboxes/tree.ts'
import type { TreeSize } from '@berth/supervisor/tree'
import { ClaimLost } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'

/** The home of a sandbox, as far as it could be sealed. */
export interface SealedHome {
  /** Null if nothing of it is kept. */
  readonly tree: SealedTree | null
  /** Whether it has the whole conversation of the agent. */
  readonly hasConversation: boolean
  /** Why only the conversation is kept, or nothing: a cap, or a failure. */
  readonly left?: OverCap | 'failed'
  /** The cap that the conversation is over. */
  readonly conversation?: OverCap
}

/**
 * Seals a sandbox's home without its caches. A home that is over its caps, or that cannot be sealed, never costs the
 * workspace's checkpoint: then only the paths are sealed in which the runtime keeps its conversations.
 *
 * @param workspace the sealed workspace, with which it shares the cap of stored bytes
 * @param isLast whether nobody tries again: then whatever fails is left out
 * @throws SealFailed or an error of the store, if somebody tries again; ClaimLost, DatabaseUnavailable, SandboxGoneError,
 *   an error of a host that is away, or the signal's reason
 */
export async function sealHome(
  context: ExecutionContext,
  {
    lease,
    runtime,
    workspace,
    isLast,
  }: { lease: LeaseRow; runtime: RuntimeEntry; workspace: SealedTree; isLast: boolean },
  options: Pick<SealOptions, 'blobs' | 'previous' | 'signal'>,
): Promise<SealedHome> {
  const { home, workspace: whole } = context.checkpointLimits
  const { state } = runtime
  const room = Math.min(home.storedBytes, Math.max(0, whole.storedBytes - workspace.storedBytes))
  /** A bound would be met again. Anything else may pass, unless this is the last try: a full store, a program that was killed. */
  const mayLeaveOut = (error: unknown): boolean =>
    (isLast || (error instanceof SealFailed && error.bound !== undefined)) && !endsSeal(error, options.signal)
  const shared = { ...options, tree: treeOf(context.driver, lease.id, 'home'), excludeOverCap: [] }
  const left = await sealUnlessOver(lease.id, {
    ...shared,
    limits: { ...home, storedBytes: room },
    exclude: homeRules({ state, placed: await placedIn(context.db, lease) }),
    ...(state.length > 0 && { counted: state }),
  }).catch((error: unknown) => {
    if (!mayLeaveOut(error)) throw error
    context.log.error({ err: error, leaseId: lease.id }, 'sealing a home failed')
    return 'failed' as const
  })
  if (left !== 'failed' && left.kind === 'sealed') return keptOf(context, left)
  if (state.length === 0) return { tree: null, hasConversation: false, left }
  const conversation = await sealTree({
    ...shared,
    limits: context.checkpointLimits.conversation,
    only: state,
    exclude: [],
  }).catch((error: unknown) => {
    if (!mayLeaveOut(error)) throw error
    context.log.error({ err: error, leaseId: lease.id }, 'sealing a conversation failed')
    return null
  })
  if (conversation === null) return { tree: null, hasConversation: false, left }
  if (conversation.kind === 'sealed') return { tree: conversation, hasConversation: true, left }
  return { tree: null, hasConversation: false, left, conversation }
}

/** A home that was over a cap, and its size then. */
interface Oversized {
  readonly over: OverCap
  readonly size: TreeSize
}

/** By lease. A process that knows nothing of one packs that home once more for nothing. */
const oversized = new Map<string, Oversized>()
const MOST_OVERSIZED = 1000

/** Seals a home, unless it was over a cap and is no smaller since: to find that out again would take as long as to keep it. */
async function sealUnlessOver(leaseId: string, options: SealOptions): Promise<SealedTree | OverCap> {
  const { tree, limits, exclude = [], signal } = options
  // A size that cannot be told is no reason to fail.
  const measure = () => measureTree(tree, { exclude, files: limits.files }, signal).catch(() => null)
  const before = oversized.get(leaseId)
  const now = before && (await measure())
  if (before && now && isStillOver(before, now, limits.storedBytes)) return before.over
  oversized.delete(leaseId)
  const sealed = await sealTree(options)
  const size = sealed.kind === 'over_cap' ? await measure() : null
  if (sealed.kind === 'sealed' || size === null) return sealed
  oversized.set(leaseId, { over: sealed, size })
  for (const oldest of oversized.keys()) if (oversized.size > MOST_OVERSIZED) oversized.delete(oldest)
  return sealed
}

/** @param room stored bytes that it may have now */
function isStillOver({ over, size }: Oversized, now: TreeSize, room: number): boolean {
  if (over.cap === 'stored' && room >= over.atLeast) return false
  return over.cap === 'files' ? now.entries >= size.entries : now.sourceBytes >= size.sourceBytes
}

/** Returns true for an error that ends the whole seal, since another worker takes it up, or no sandbox is there to be sealed. */
const endsSeal = (error: unknown, signal: AbortSignal | undefined): boolean =>
  signal?.aborted === true ||
  error instanceof ClaimLost ||
  error instanceof DatabaseUnavailable ||
  error instanceof SandboxGoneError ||
  isHostAway(error)

/** An agent's record of a conversation keeps to its own caps, also within a home that is kept. */
function keptOf({ checkpointLimits }: ExecutionContext, sealed: SealedTree): SealedHome {
  const tree = sealed.files + sealed.directories + sealed.links === 0 ? null : sealed
  if (sealed.counted === undefined) return { tree, hasConversation: false }
  const { entries, sourceBytes } = sealed.counted
  const { files: mostFiles, sourceBytes: mostBytes } = checkpointLimits.conversation
  const about = { kind: 'over_cap', sourceBytes } as const
  if (entries > mostFiles)
    return {
      tree,
      hasConversation: false,
      conversation: { ...about, cap: 'files', limit: mostFiles, atLeast: entries },
    }
  if (sourceBytes > mostBytes)
    return {
      tree,
      hasConversation: false,
      conversation: { ...about, cap: 'source', limit: mostBytes, atLeast: sourceBytes },
    }
  return { tree, hasConversation: true }
}

/**
 * Returns the paths of a home that every fresh sandbox gets anew: the skills of extensions, and the environment's cached
 * paths. If they were restored from a checkpoint, newer ones would find their places taken.
 */
async function placedIn(db: Queryable, lease: LeaseRow): Promise<readonly string[]> {
  const { organization_id: organizationId, environment_id: environmentId, environment_revision: revision } = lease
  if (environmentId === null || revision === null) return []
  const { cache } = await readFixedDocument(db, { organizationId, environmentId }, revision)
  return [...pathsIn('home', cache.paths), ...(lease.apply?.skills ?? [])]
}

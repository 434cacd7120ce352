import { BlobMissing, type Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { TreeUnfinishedError } from '@berth/sandboxes/lease-program.ts'
import type { Tree } from '@berth/sandboxes/tree.ts'
import type { ExcludeRule, SealJob } from '@berth/supervisor/tree'
import { Conversation } from './conversation.ts'
import { SealFailed } from './errors.ts'
import { cacheRules, rebuildableRules } from './exclude-rules.ts'
import type { CheckpointLimits } from './limits.ts'
import { sha256Of } from './manifest.ts'
import { CapExceeded, type OverCap } from './over-cap.ts'
import { nothingBefore, type Previous, previousOf } from './reusable-packs.ts'
import { type Sealed, Sealing } from './sealing.ts'

const DEFAULT_LEVEL = 3

/** A tree to seal. */
export interface SealOptions {
  readonly tree: Tree
  readonly blobs: Blobs
  readonly limits: CheckpointLimits
  /** The manifest of this tree's last recorded checkpoint, sealed from it or restored into it. */
  readonly previous?: Uint8Array | undefined
  /** Top-level names that do not belong to the tree. */
  readonly skip?: readonly string[]
  /** Always left out. By default caches. */
  readonly exclude?: readonly ExcludeRule[]
  /** Nothing but these paths and everything below them. */
  readonly only?: readonly string[]
  /** Refuses a tree that holds one of these texts. Content that the previous checkpoint has is not searched again. */
  readonly secrets?: readonly string[]
  /** Paths to count by themselves as well, with everything below them. */
  readonly counted?: readonly string[]
  /** Left out in addition if the checkpoint is over a cap. By default rebuildable directories. */
  readonly excludeOverCap?: readonly ExcludeRule[]
  readonly level?: number
  readonly signal?: AbortSignal | undefined
}

/** A checkpoint that is whole in the store. It counts once the caller has recorded the manifest. */
export interface SealedTree extends Sealed {
  readonly kind: 'sealed'
  /** True if it met its caps only by leaving out rebuildable content. */
  readonly reduced: boolean
}

/**
 * Seals a tree into blobs. The tree may change meanwhile; each file is then sealed as of some time during the seal.
 * Nothing is overwritten: the previous checkpoint stays valid until the caller records the new one in its place. A
 * collector removes the blobs of a failed seal.
 *
 * A checkpoint over its caps is tried again without dead content of earlier ones, and then without rebuildable content.
 *
 * @returns the sealed tree, or the cap that even the last attempt exceeded
 * @throws SecretFound, SealFailed, StorageFull, BlobCorrupt, or the signal's reason
 */
export async function sealTree(options: SealOptions): Promise<SealedTree | OverCap> {
  const skip = (options.skip ?? []).map(name => ({ names: [name], rooted: true }))
  const exclude = [...skip, ...(options.exclude ?? cacheRules)]
  const besides = options.excludeOverCap ?? rebuildableRules
  const attempts = [
    { exclude, compact: false, reduced: false },
    ...(options.previous === undefined ? [] : [{ exclude, compact: true, reduced: false }]),
    ...(besides.length === 0 ? [] : [{ exclude: [...exclude, ...besides], compact: true, reduced: true }]),
  ]
  let over: CapExceeded | undefined
  for (const attempt of attempts) {
    // Only what is shared with earlier checkpoints shrinks by compacting.
    if (over?.mayCompact === false && !attempt.reduced) continue
    try {
      return await sealOnBest(options, attempt)
    } catch (error) {
      if (!(error instanceof CapExceeded)) throw error
      over = error
    }
  }
  if (over === undefined) throw new Error('no attempt was made')
  return over.result
}

/** The settings of one attempt. */
interface Attempt {
  readonly exclude: readonly ExcludeRule[]
  readonly compact: boolean
  readonly reduced: boolean
}

/** Builds on the previous checkpoint, unless the store has lost a blob that the new one would share. */
async function sealOnBest(options: SealOptions, attempt: Attempt): Promise<SealedTree> {
  try {
    return await sealOnce(options, attempt)
  } catch (error) {
    if (options.previous === undefined || !(error instanceof BlobMissing)) throw error
    return await sealOnce({ ...options, previous: undefined }, attempt)
  }
}

async function sealOnce(options: SealOptions, attempt: Attempt): Promise<SealedTree> {
  const manifestSha256 = options.previous && sha256Of(options.previous)
  await using conversation = await start(options, manifestSha256)
  const { id, hasPrevious } = conversation.baseline
  try {
    // Runs while the program starts. Without a baseline nothing of the previous checkpoint can be found in the tree.
    const previous =
      options.previous === undefined || !hasPrevious
        ? nothingBefore
        : await previousOf(options.previous, options.blobs, attempt.compact)
    const job = jobOf(options, attempt, previous)
    conversation.order(job)
    conversation.end()
    const sealed = await new Sealing(options, job, previous).run(conversation)
    const kept = { kept: sealed.manifestSha256, ...(manifestSha256 !== undefined && { previous: manifestSha256 }) }
    await options.tree.settle(id, kept)
    return { kind: 'sealed', ...sealed, reduced: attempt.reduced }
  } catch (error) {
    await options.tree.settle(id, 'abandoned')
    throw error
  }
}

async function start({ tree, signal }: SealOptions, previous: string | undefined): Promise<Conversation> {
  try {
    return await Conversation.start(tree, 'read', { baseline: { previous }, signal })
  } catch (error) {
    if (error instanceof TreeUnfinishedError) throw new SealFailed(error.message, { cause: error })
    throw error
  }
}

function jobOf(options: SealOptions, attempt: Attempt, previous: Previous): SealJob {
  const { files, sourceBytes, indexBytes } = options.limits
  return {
    kind: 'seal',
    level: options.level ?? DEFAULT_LEVEL,
    exclude: attempt.exclude,
    ...(options.only !== undefined && { only: options.only }),
    ...(options.secrets !== undefined && { secrets: options.secrets }),
    ...(options.counted !== undefined && { counted: options.counted }),
    limits: { files, sourceBytes, indexBytes },
    packs: previous.table.packs.map(pack => ({ id: pack.id, sourceBytes: pack.sourceBytes })),
    nextPack: previous.table.nextPack,
    hasBaseline: previous.manifest !== undefined,
  }
}

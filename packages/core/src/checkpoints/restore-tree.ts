import { buffer } from 'node:stream/consumers'
import { progressReport } from '@berth/platform/kit/progress.ts'
import { BlobCorrupt, type BlobRef, type Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import type { Tree } from '@berth/sandboxes/tree.ts'
import { type ClearJob, frameTypes, type RestoreJob, type RestoreReady, type TreeTotals } from '@berth/supervisor/tree'
import { damageOf, verifyCheckpoint } from './check.ts'
import { Conversation, ProgramGaveUp } from './conversation.ts'
import { RestoreRefused } from './errors.ts'
import type { CheckpointLimits } from './limits.ts'
import { type Manifest, type PackTable, parseManifest, readPackTable, sha256Of } from './manifest.ts'

/** Number of blobs read ahead of the one being sent. */
const AHEAD = 2

/** A checkpoint to restore. */
export interface RestoreOptions {
  /** A directory that is empty but for `skip`, or that holds leftovers of an unfinished restore. */
  readonly tree: Tree
  readonly manifest: Uint8Array
  readonly blobs: Blobs
  /** Top-level names that do not belong to the tree and stay. */
  readonly skip?: readonly string[]
  /**
   * Writes nothing but these paths, beside what the target has; one that exists is left as it is. After a failure none
   * of them is there that was not there before.
   */
  readonly only?: readonly string[]
  /** Makes a tree that sandboxes show below their own files: in an empty directory, or over the tree that it shows. */
  readonly lower?: 'whole' | 'over'
  /** Names a baseline of the target, of another tree over the same one; its content is not read again. */
  readonly previous?: string | undefined
  readonly limits: CheckpointLimits
  readonly signal?: AbortSignal | undefined
}

/** A restored tree. */
export interface RestoredTree extends TreeTotals {
  /** The paths of `only` that were written. */
  readonly placed: readonly string[]
}

/**
 * Writes a checkpoint's tree into a target that nobody else uses yet. Before the first write, all blobs are known to
 * exist and the file list is known to be sound. Each blob is checked against its digest before use. The tree appears in
 * its place only when it is whole, and the next seal builds on the checkpoint. After a failure the target is empty again;
 * after a crash the next restore clears it first.
 *
 * @throws RestoreRefused, SandboxGoneError, or the signal's reason
 */
export async function restoreTree(options: RestoreOptions): Promise<RestoredTree> {
  const { manifest, table } = await readSound(options)
  return write(options, manifest, table)
}

async function readSound(options: RestoreOptions): Promise<{ manifest: Manifest; table: PackTable }> {
  const { blobs, limits, signal } = options
  if (options.manifest.length > limits.manifestBytes) throw new RestoreRefused('over_limit', 'the manifest is too long')
  try {
    const manifest = parseManifest(options.manifest)
    const entries = manifest.files + manifest.directories + manifest.links
    const indexBytes = manifest.index.reduce((sum, part) => sum + part.sourceBytes, 0)
    const over =
      manifest.storedBytes > limits.storedBytes ||
      manifest.sourceBytes > limits.sourceBytes ||
      entries > limits.files ||
      indexBytes > limits.indexBytes
    if (over) throw new RestoreRefused('over_limit', 'the checkpoint is over its caps')
    const damage = await verifyCheckpoint(options.manifest, blobs, signal ? { signal } : {})
    if (damage !== undefined) throw new RestoreRefused(damage, `the checkpoint is ${damage}`)
    return { manifest, table: await readPackTable(manifest, blobs) }
  } catch (error) {
    signal?.throwIfAborted()
    throw refusalOf(error)
  }
}

async function write(options: RestoreOptions, manifest: Manifest, table: PackTable): Promise<RestoredTree> {
  const { tree, blobs, limits, lower, previous, signal } = options
  const keep = options.skip ?? []
  const job: Omit<RestoreJob, 'hasBaseline'> = {
    kind: 'restore',
    limits: { files: limits.files, sourceBytes: limits.sourceBytes, indexBytes: limits.indexBytes },
    packs: table.packs.map(({ id, sourceBytes }) => ({ id, sourceBytes })),
    keep,
    ...(options.only !== undefined && { only: options.only }),
    ...(lower !== undefined && { lower }),
  }
  let placed: readonly string[] | null = null
  let baseline: string | null = null
  try {
    await using conversation = await Conversation.start(tree, 'write', { baseline: { previous }, signal })
    baseline = conversation.baseline.id
    conversation.order({ ...job, hasBaseline: conversation.baseline.hasPrevious })
    for await (const [part, content] of contents(manifest.index, blobs)) {
      await conversation.send(frameTypes.segment, numbers(part.sourceBytes), content)
    }
    await conversation.send(frameTypes.indexEnd)
    // From here on the content of the target belongs to this restore.
    const ready = await conversation.next()
    if (ready.type !== frameTypes.ready) throw new RestoreRefused('failed', 'the tree program sent an unexpected frame')
    const { open, packs: needed } = JSON.parse(ready.payload.toString()) as RestoreReady
    placed = open.flatMap(at => options.only?.[at] ?? [])
    const packs = table.packs.filter(({ id }) => needed?.includes(id) ?? true)
    const report = progressReport()
    const total = packs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    let written = 0
    for await (const [pack, content] of contents(packs, blobs)) {
      await conversation.send(frameTypes.pack, numbers(pack.id, pack.sourceBytes), content)
      written += pack.sizeBytes
      report({ unit: 'bytes', done: written, total })
    }
    await conversation.send(frameTypes.finish)
    conversation.end()
    const done = await conversation.next()
    if (done.type !== frameTypes.done) throw new RestoreRefused('failed', 'the tree program sent an unexpected frame')
    await tree.settle(baseline, { kept: sha256Of(options.manifest) })
    return { ...(JSON.parse(done.payload.toString()) as TreeTotals), placed }
  } catch (error) {
    if (baseline === null) throw signal?.aborted === true ? signal.reason : refusalOf(error)
    if (lower !== undefined) {
      // The caller removes the directory.
      await tree.settle(baseline, 'abandoned')
      signal?.throwIfAborted()
      throw refusalOf(error)
    }
    // The restore may have begun and been killed before its report arrived. No signal here: it may have caused the
    // kill.
    const only = options.only === undefined ? {} : { only: placed ?? [] }
    const isCleared = await clearTarget(tree, { keep, ...only, ifBegun: placed === null }).then(
      () => true,
      () => false,
    )
    // A tree that could not be cleared stays marked, so that it is never sealed.
    await tree.settle(baseline, isCleared ? 'cleared' : 'abandoned')
    signal?.throwIfAborted()
    throw refusalOf(error)
  }
}

/** Removes everything from a target but `keep`; with `only`, these paths and what a restore beside others has left. */
export async function clearTarget(tree: Tree, job: Omit<ClearJob, 'kind'>): Promise<void> {
  await using conversation = await Conversation.start(tree, 'write', {})
  conversation.order({ kind: 'clear', ...job })
  conversation.end()
  await conversation.next()
}

/** Reads blobs in order, a few ahead; yields each only when all of it matches its digest. */
async function* contents<T extends BlobRef>(refs: readonly T[], blobs: Blobs): AsyncGenerator<[T, Buffer]> {
  const ahead: { ref: T; content: Promise<Buffer> }[] = []
  for (const ref of refs) {
    const content = read(ref, blobs)
    // The loop handles the error where it awaits the content.
    content.catch(() => undefined)
    ahead.push({ ref, content })
    const next = ahead.length > AHEAD ? ahead.shift() : undefined
    if (next !== undefined) yield [next.ref, await next.content]
  }
  for (const next of ahead) yield [next.ref, await next.content]
}

async function read(ref: BlobRef, blobs: Blobs): Promise<Buffer> {
  const content = await buffer(await blobs.get(ref.sha256))
  if (content.length !== ref.sizeBytes) throw new BlobCorrupt(ref.sha256)
  return content
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [n, value] of values.entries()) bytes.writeUInt32LE(value, n * 4)
  return bytes
}

function refusalOf(error: unknown): unknown {
  if (error instanceof RestoreRefused || error instanceof SandboxGoneError) return error
  const damage = damageOf(error)
  if (damage !== undefined) return new RestoreRefused(damage, `the checkpoint is ${damage}`, { cause: error })
  if (!(error instanceof ProgramGaveUp)) {
    return new RestoreRefused('failed', 'the restore broke off', { cause: error })
  }
  switch (error.failure.code) {
    case 'malformed':
    case 'over_limit':
    case 'target_not_empty':
      return new RestoreRefused(error.failure.code, error.message)
    case 'no_space':
      return new RestoreRefused('target_full', error.message)
    default:
      return new RestoreRefused('failed', error.message)
  }
}

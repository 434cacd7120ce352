import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import {
  cacheStagingName,
  frameTypes,
  type RestoreJob,
  type RestoreReady,
  stagingName,
  type TreeTotals,
} from '@berth/supervisor/tree'
import type { TreePlace, TreeProgram } from '../sandboxes/driver.ts'
import { BlobCorrupt, type BlobRef, type Blobs } from '../storage/blobs/blobs.ts'
import { Baselines } from './baselines.ts'
import { damageOf, verifyCheckpoint } from './check.ts'
import { Conversation, ProgramGaveUp } from './conversation.ts'
import { RestoreRefused } from './errors.ts'
import type { CheckpointLimits } from './limits.ts'
import { type Manifest, type PackTable, parseManifest, readPackTable, sha256Of } from './manifest.ts'

/** Number of blobs read ahead of the one being sent. */
const AHEAD = 2

/** A checkpoint to restore. */
export interface RestoreOptions {
  readonly program: TreeProgram
  readonly manifest: Uint8Array
  readonly blobs: Blobs
  /** A directory that is empty but for `skip`, or that holds leftovers of an unfinished restore. */
  readonly target: TreePlace
  /** Top-level names of the target that do not belong to the tree and stay. */
  readonly skip?: readonly string[]
  /**
   * Writes nothing but these paths, beside what the target has; one that exists is left as it is. After a failure none
   * of them is there that was not there before.
   */
  readonly only?: readonly string[]
  readonly limits: CheckpointLimits
  /** Directory of the target's baselines, as for `sealTree`: the next seal builds on this checkpoint. */
  readonly baselines: string
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
 * its place only when it is whole. After a failure the target is empty again; after a crash the next restore clears it
 * first.
 *
 * @throws RestoreRefused, or the signal's reason
 */
export async function restoreTree(options: RestoreOptions): Promise<RestoredTree> {
  const { manifest, table } = await readSound(options)
  const baselines = await Baselines.open(options.baselines)
  await using next = await baselines.begin()
  try {
    await baselines.begun()
    const totals = await write(options, manifest, table, baselines, next.handle.fd)
    await baselines.keep(next.path, sha256Of(options.manifest), undefined)
    await baselines.finished()
    return totals
  } catch (error) {
    await baselines.abandon(next.path)
    throw error
  }
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

async function write(
  options: RestoreOptions,
  manifest: Manifest,
  table: PackTable,
  baselines: Baselines,
  baselineFd: number,
): Promise<RestoredTree> {
  const { program, target, blobs, limits, signal } = options
  const keep = options.skip ?? []
  const job: RestoreJob = {
    kind: 'restore',
    limits: { files: limits.files, sourceBytes: limits.sourceBytes, indexBytes: limits.indexBytes },
    packs: table.packs.map(({ id, sourceBytes }) => ({ id, sourceBytes })),
    keep,
    ...(options.only !== undefined && { only: options.only }),
  }
  let placed: readonly string[] | null = null
  try {
    await using conversation = await Conversation.start(program, target, 'write', { descriptors: [baselineFd], signal })
    conversation.order(job)
    for await (const [part, content] of contents(manifest.index, blobs)) {
      await conversation.send(frameTypes.segment, numbers(part.sourceBytes), content)
    }
    await conversation.send(frameTypes.indexEnd)
    // From here on the content of the target belongs to this restore.
    const ready = await conversation.next()
    if (ready.type !== frameTypes.ready) throw new RestoreRefused('failed', 'the tree program sent an unexpected frame')
    const { open } = JSON.parse(ready.payload.toString()) as RestoreReady
    placed = open.flatMap(at => options.only?.[at] ?? [])
    for await (const [pack, content] of contents(table.packs, blobs)) {
      await conversation.send(frameTypes.pack, numbers(pack.id, pack.sourceBytes), content)
    }
    await conversation.send(frameTypes.finish)
    conversation.end()
    const done = await conversation.next()
    if (done.type !== frameTypes.done) throw new RestoreRefused('failed', 'the tree program sent an unexpected frame')
    return { ...(JSON.parse(done.payload.toString()) as TreeTotals), placed }
  } catch (error) {
    // The restore may have begun and been killed before its report arrived. No signal here: it may have caused the
    // kill.
    const only = options.only === undefined ? {} : { only: placed ?? [] }
    if (placed !== null || (await isUnfinished(options))) await clearTarget(options, { keep, ...only })
    await baselines.finished()
    signal?.throwIfAborted()
    throw refusalOf(error)
  }
}

/** Returns true if a restore has left its mark in the target. */
async function isUnfinished({ target, only }: Pick<RestoreOptions, 'target' | 'only'>): Promise<boolean> {
  return lstat(join(target.path, only === undefined ? stagingName : cacheStagingName)).then(
    () => true,
    () => false,
  )
}

/** Removes everything from a target but `keep`; with `only`, these paths and what a restore beside others has left. */
export async function clearTarget(
  { program, target }: Pick<RestoreOptions, 'program' | 'target'>,
  names: { readonly keep: readonly string[]; readonly only?: readonly string[] },
): Promise<void> {
  await using conversation = await Conversation.start(program, target, 'write', {})
  conversation.order({ kind: 'clear', ...names })
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
  if (error instanceof RestoreRefused) return error
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

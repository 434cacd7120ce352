import type { FileHandle } from 'node:fs/promises'
import {
  type ExcludeRule,
  frameTypes,
  type LimitName,
  type Omitted,
  packBytes,
  type SealDone,
  type SealJob,
  segmentBytes,
} from '@berth/supervisor/tree'
import type { TreePlace, TreeProgram } from '../sandboxes/driver.ts'
import { BlobMissing, type BlobRef, type Blobs } from '../storage/blobs.ts'
import { Baselines } from './baselines.ts'
import { BlobSink } from './blob-sink.ts'
import { Conversation, ProgramGaveUp, ProgramLost } from './conversation.ts'
import { SealFailed } from './errors.ts'
import { cacheRules, rebuildableRules } from './exclude-rules.ts'
import type { CheckpointLimits } from './limits.ts'
import {
  encodeManifest,
  encodePackTable,
  type IndexBlob,
  type Manifest,
  ManifestError,
  type Pack,
  type PackTable,
  parseManifest,
  sha256Of,
} from './manifest.ts'
import { noPacks, reusablePacks } from './reusable-packs.ts'

const DEFAULT_LEVEL = 3

/** A tree to seal. */
export interface SealOptions {
  readonly program: TreeProgram
  readonly source: TreePlace
  readonly blobs: Blobs
  readonly limits: CheckpointLimits
  /** Where this tree's baselines are kept: a directory of the service's that lives as long as the tree. */
  readonly baselines: string
  /** The manifest of this tree's last recorded checkpoint, sealed from it or restored into it. */
  readonly previous?: Uint8Array | undefined
  /** Names at the top of the source that are no part of the tree. */
  readonly skip?: readonly string[]
  /**
   * Left out whatever happens, and left out besides where the checkpoint is over a cap without. By default caches and
   * what can be built again.
   */
  readonly exclude?: readonly ExcludeRule[]
  /** Nothing but these paths and what lies below them. */
  readonly only?: readonly string[]
  readonly excludeOverCap?: readonly ExcludeRule[]
  readonly level?: number
  readonly signal?: AbortSignal | undefined
}

/** A checkpoint that is whole in the store. It counts once the caller has recorded the manifest. */
export interface SealedTree {
  readonly kind: 'sealed'
  readonly manifest: Buffer
  readonly manifestSha256: string
  readonly files: number
  readonly directories: number
  readonly links: number
  readonly sourceBytes: number
  /** Of all blobs that the manifest names. */
  readonly storedBytes: number
  /** Of those put for it. */
  readonly newBytes: number
  /** Content read from the tree; the rest is known from before. */
  readonly readBytes: number
  readonly omitted: Omitted
  /** Whether it was kept within its caps by leaving out what can be built again. */
  readonly reduced: boolean
}

/** A tree that does not fit. */
export interface OverCap {
  readonly kind: 'over_cap'
  readonly cap: 'stored' | 'manifest' | LimitName
  readonly limit: number
  /** What it had come to when it was given up. */
  readonly atLeast: number
}

/** Where an attempt found its tree too large. */
class CapExceeded extends Error {
  readonly result: OverCap

  constructor(result: OverCap) {
    super(`over the cap of ${result.cap}`)
    this.result = result
  }
}

/**
 * Seals a tree into blobs. The tree may be changing; each file is then as it was at some time of the sealing. Nothing is
 * overwritten: the previous checkpoint stays what it was until the caller records the new one in its place, whatever
 * happens here, and what a failed seal has put is left to the collector.
 *
 * A checkpoint over its caps is tried again without dead content of earlier ones, and then without what can be built
 * again, before it is given up.
 *
 * @throws SealFailed, StorageFull, BlobCorrupt, or the reason of the signal
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
  let over: OverCap | undefined
  for (const attempt of attempts) {
    // Only stored bytes and the manifest's packs shrink by compacting.
    if (over !== undefined && over.cap !== 'stored' && !attempt.reduced) continue
    try {
      return await sealOnBest(options, attempt)
    } catch (error) {
      if (!(error instanceof CapExceeded)) throw error
      over = error.result
    }
  }
  if (over === undefined) throw new Error('no attempt was made')
  return over
}

/** How one attempt goes about it. */
interface Attempt {
  readonly exclude: readonly ExcludeRule[]
  readonly compact: boolean
  readonly reduced: boolean
}

/** Builds on the previous checkpoint unless the store has lost of it what the new one would share. */
async function sealOnBest(options: SealOptions, attempt: Attempt): Promise<SealedTree> {
  try {
    return await sealOnce(options, attempt)
  } catch (error) {
    if (options.previous === undefined || !(error instanceof BlobMissing)) throw error
    return await sealOnce({ ...options, previous: undefined }, attempt)
  }
}

async function sealOnce(options: SealOptions, attempt: Attempt): Promise<SealedTree> {
  const baselines = await Baselines.open(options.baselines)
  const previous = await previousOf(options, baselines, attempt.compact)
  const next = await baselines.begin()
  try {
    const { limits } = options
    const job: SealJob = {
      kind: 'seal',
      level: options.level ?? DEFAULT_LEVEL,
      exclude: attempt.exclude,
      ...(options.only !== undefined && { only: options.only }),
      limits: { files: limits.files, sourceBytes: limits.sourceBytes, indexBytes: limits.indexBytes },
      packs: previous.table.packs.map(({ id, sourceBytes }) => ({ id, sourceBytes })),
      nextPack: previous.table.nextPack,
      hasBaseline: previous.baseline !== undefined,
    }
    const sealed = await new Sealing(options, job, previous).run([
      next.handle.fd,
      ...(previous.baseline ? [previous.baseline.fd] : []),
    ])
    await baselines.keep(next.path, sealed.manifestSha256, previous.manifestSha256)
    return { ...sealed, reduced: attempt.reduced }
  } catch (error) {
    await baselines.abandon(next.path)
    throw error
  } finally {
    await next.handle.close()
    await previous.baseline?.close()
  }
}

/** What a seal builds on. */
interface Previous {
  readonly manifest: Manifest | undefined
  readonly manifestSha256: string | undefined
  readonly table: PackTable
  readonly baseline: FileHandle | undefined
}

/** Without a baseline nothing of the previous checkpoint can be found again in the tree. */
async function previousOf(options: SealOptions, baselines: Baselines, compact: boolean): Promise<Previous> {
  const nothing = { manifest: undefined, manifestSha256: undefined, table: noPacks, baseline: undefined }
  if (options.previous === undefined) return nothing
  const manifestSha256 = sha256Of(options.previous)
  const baseline = await baselines.read(manifestSha256)
  if (baseline === undefined) return { ...nothing, manifestSha256 }
  try {
    const manifest = parseManifest(options.previous)
    return { manifest, manifestSha256, table: await reusablePacks(manifest, options.blobs, compact), baseline }
  } catch (error) {
    await baseline.close()
    if (error instanceof ManifestError) return { ...nothing, manifestSha256 }
    throw error
  }
}

/** One conversation with the program, and the blobs that come of it. */
class Sealing {
  readonly #options: SealOptions
  readonly #job: SealJob
  readonly #previous: Previous
  readonly #sink: BlobSink
  readonly #packs = new Map<number, Omit<Pack, 'liveBytes'>>()
  readonly #index: IndexBlob[] = []
  #parts = 0

  constructor(options: SealOptions, job: SealJob, previous: Previous) {
    this.#options = options
    this.#job = job
    this.#previous = previous
    this.#sink = new BlobSink(options.blobs, options.signal)
  }

  async run(descriptors: readonly number[]): Promise<Omit<SealedTree, 'reduced'>> {
    const { program, source, signal } = this.#options
    await using conversation = Conversation.start(program, source, this.#job, { descriptors, signal })
    conversation.end()
    try {
      for (;;) {
        const { type, payload } = await conversation.next()
        if (type === frameTypes.pack) await this.#addPack(payload)
        else if (type === frameTypes.segment) await this.#addSegment(payload)
        else if (type === frameTypes.same) await this.#reuseSegment(payload.readUInt32LE(0))
        else if (type === frameTypes.done) return await this.#finish(JSON.parse(payload.toString()) as SealDone)
        else throw new SealFailed(`the program beside the tree sent a frame of type ${type}`)
      }
    } catch (error) {
      // Before the store is left to itself: the puts under way belong to this seal.
      await this.#sink.settle().catch(() => undefined)
      throw this.#translated(error)
    }
  }

  async #addPack(payload: Buffer): Promise<void> {
    const id = payload.readUInt32LE(0)
    const sourceBytes = payload.readUInt32LE(4)
    if (id < this.#job.nextPack || this.#packs.has(id) || sourceBytes > packBytes) throw new SealFailed('no such pack')
    const sizeBytes = payload.length - 8
    this.#packs.set(id, { id, sourceBytes, sizeBytes, sha256: '' })
    this.#checkStored()
    await this.#sink.add(payload.subarray(8), blob => this.#packs.set(id, { id, sourceBytes, ...blob }))
  }

  async #addSegment(payload: Buffer): Promise<void> {
    const sourceBytes = payload.readUInt32LE(0)
    if (sourceBytes > segmentBytes) throw new SealFailed('a part of the index is too long')
    const at = this.#parts++
    await this.#sink.add(payload.subarray(4), blob => {
      this.#index[at] = { ...blob, sourceBytes }
    })
  }

  async #reuseSegment(ordinal: number): Promise<void> {
    const part = this.#previous.manifest?.index[ordinal]
    if (part === undefined) throw new SealFailed('no such part of the previous index')
    this.#index[this.#parts++] = part
    const found = await this.#options.blobs.stat(part.sha256)
    if (found?.sizeBytes !== part.sizeBytes) throw new BlobMissing(part.sha256)
  }

  async #finish(done: SealDone): Promise<Omit<SealedTree, 'reduced'>> {
    const table = this.#table(done)
    await this.#sink.settle()
    let packs: BlobRef | undefined
    await this.#sink.add(encodePackTable({ nextPack: table.nextPack, packs: table.packs() }), blob => {
      packs = blob
    })
    await this.#sink.settle()
    if (packs === undefined) throw new SealFailed('the table of packs was not stored')
    const { files, directories, links, sourceBytes, readBytes, omitted } = done
    const storedBytes = [...table.packs(), ...this.#index, packs].reduce((sum, blob) => sum + blob.sizeBytes, 0)
    refuseOver('stored', this.#options.limits.storedBytes, storedBytes)
    const totals = { files, directories, links, sourceBytes, storedBytes }
    const manifest = encodeManifest({ ...totals, index: this.#index, packs })
    refuseOver('manifest', this.#options.limits.manifestBytes, manifest.length)
    const manifestSha256 = sha256Of(manifest)
    return { kind: 'sealed', manifest, manifestSha256, ...totals, newBytes: this.#sink.newBytes, readBytes, omitted }
  }

  /** The packs in use: of the previous checkpoint's and the new ones, those with content of this tree. */
  #table({ live }: SealDone): { nextPack: number; packs(): readonly Pack[] } {
    const before = new Map(this.#previous.table.packs.map(pack => [pack.id, pack]))
    const ids = live.map(([id]) => id)
    const nextPack = Math.max(this.#job.nextPack, ...ids.map(id => id + 1))
    const packs = () =>
      live
        .map(([id, liveBytes]) => {
          const pack = this.#packs.get(id) ?? before.get(id)
          if (pack === undefined || liveBytes > pack.sourceBytes) throw new SealFailed('content in no pack')
          return { ...pack, liveBytes }
        })
        .sort((one, other) => one.id - other.id)
    return { nextPack, packs }
  }

  /** Ends a seal as soon as its new packs alone are over the cap. */
  #checkStored(): void {
    let stored = 0
    for (const pack of this.#packs.values()) stored += pack.sizeBytes
    refuseOver('stored', this.#options.limits.storedBytes, stored)
  }

  #translated(error: unknown): unknown {
    if (error instanceof ProgramLost) return new SealFailed(error.message, { cause: error })
    if (!(error instanceof ProgramGaveUp)) return error
    const { failure } = error
    if (failure.code !== 'over_limit') return new SealFailed(error.message)
    const { limits } = this.#options
    const limit = { files: limits.files, source: limits.sourceBytes, index: limits.indexBytes }[failure.limit]
    return new CapExceeded({ kind: 'over_cap', cap: failure.limit, limit, atLeast: failure.atLeast })
  }
}

function refuseOver(cap: OverCap['cap'], limit: number, size: number): void {
  if (size > limit) throw new CapExceeded({ kind: 'over_cap', cap, limit, atLeast: size })
}

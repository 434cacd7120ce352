import { frameTypes, type Omitted, packBytes, type SealDone, type SealJob, segmentBytes } from '@berth/supervisor/tree'
import type { BlobRef, Blobs } from '../storage/blobs.ts'
import { BlobSink } from './blob-sink.ts'
import { type Conversation, ProgramGaveUp, ProgramLost } from './conversation.ts'
import { SealFailed } from './errors.ts'
import type { CheckpointLimits } from './limits.ts'
import { encodeManifest, encodePackTable, type IndexBlob, type Pack, sha256Of } from './manifest.ts'
import { CapExceeded, refuseOver } from './over-cap.ts'
import type { Previous } from './reusable-packs.ts'

/** Where blobs go, and how much of them. */
export interface SealingOptions {
  readonly blobs: Blobs
  readonly limits: CheckpointLimits
  readonly signal?: AbortSignal | undefined
}

/** What became of a tree. */
export interface Sealed {
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
}

/** One conversation with the program, and the blobs that come of it. */
export class Sealing {
  readonly #options: SealingOptions
  readonly #job: SealJob
  readonly #previous: Previous
  readonly #sink: BlobSink
  readonly #packs = new Map<number, Omit<Pack, 'liveBytes'>>()
  readonly #index: IndexBlob[] = []
  #parts = 0

  constructor(options: SealingOptions, job: SealJob, previous: Previous) {
    this.#options = options
    this.#job = job
    this.#previous = previous
    this.#sink = new BlobSink(options.blobs, options.signal)
  }

  /**
   * Takes what the program sends until it is done.
   *
   * @throws CapExceeded, SealFailed, what the store throws, or the reason of the signal
   */
  async run(conversation: Conversation): Promise<Sealed> {
    try {
      for (;;) {
        const { type, payload } = await conversation.next()
        if (type === frameTypes.pack) await this.#addPack(payload)
        else if (type === frameTypes.segment) await this.#addSegment(payload)
        else if (type === frameTypes.same) this.#reuseSegment(payload.readUInt32LE(0))
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

  #reuseSegment(ordinal: number): void {
    const part = this.#previous.manifest?.index[ordinal]
    if (part === undefined) throw new SealFailed('no such part of the previous index')
    this.#index[this.#parts++] = part
    this.#sink.reuse(part)
  }

  async #finish(done: SealDone): Promise<Sealed> {
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
    return { manifest, manifestSha256, ...totals, newBytes: this.#sink.newBytes, readBytes, omitted }
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

import type { BlobRef, Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import {
  type CountedPart,
  frameTypes,
  type Omitted,
  packBytes,
  type SealDone,
  type SealJob,
  segmentBytes,
} from '@berth/supervisor/tree'
import { BlobSink } from './blob-sink.ts'
import { type Conversation, ProgramGaveUp, ProgramLost } from './conversation.ts'
import { SealFailed, SecretFound } from './errors.ts'
import type { CheckpointLimits } from './limits.ts'
import { encodeManifest, encodePackTable, type IndexBlob, type Pack, sha256Of } from './manifest.ts'
import { CapExceeded, refuseOver } from './over-cap.ts'
import type { Previous } from './reusable-packs.ts'

/** The blob store, and the caps of the checkpoint. */
export interface SealingOptions {
  readonly blobs: Blobs
  readonly limits: CheckpointLimits
  readonly signal?: AbortSignal | undefined
}

/** The result of sealing a tree. */
export interface Sealed {
  readonly manifest: Buffer
  readonly manifestSha256: string
  readonly files: number
  readonly directories: number
  readonly links: number
  readonly sourceBytes: number
  /** Of all blobs that the manifest names. */
  readonly storedBytes: number
  /** Of the blobs that this seal put. */
  readonly newBytes: number
  /** Bytes of content read from the tree; the rest is known from before. */
  readonly readBytes: number
  readonly omitted: Omitted
  /** The part that was to be counted by itself. */
  readonly counted?: CountedPart
}

/** A pack of this seal. */
interface NewPack extends Omit<Pack, 'liveBytes' | 'sha256'> {
  /** The content until it is stored, then its digest. */
  readonly content: Uint8Array | { readonly sha256: string }
}

/** One conversation with the tree program, and the blobs made from it. */
export class Sealing {
  readonly #options: SealingOptions
  readonly #job: SealJob
  readonly #previous: Previous
  readonly #sink: BlobSink
  readonly #packs = new Map<number, NewPack>()
  readonly #index: IndexBlob[] = []
  #parts = 0

  constructor(options: SealingOptions, job: SealJob, previous: Previous) {
    this.#options = options
    this.#job = job
    this.#previous = previous
    this.#sink = new BlobSink(options.blobs, options.signal)
  }

  /**
   * Takes the program's frames until it is done.
   *
   * @throws CapExceeded, SealFailed, the store's error, or the signal's reason
   */
  async run(conversation: Conversation): Promise<Sealed> {
    try {
      for (;;) {
        const { type, payload } = await conversation.next()
        if (type === frameTypes.pack) await this.#addPack(payload)
        else if (type === frameTypes.segment) await this.#addSegment(payload)
        else if (type === frameTypes.same) this.#reuseSegment(payload.readUInt32LE(0))
        else if (type === frameTypes.done) return await this.#finish(JSON.parse(payload.toString()) as SealDone)
        else throw new SealFailed(`the tree program sent a frame of type ${type}`)
      }
    } catch (error) {
      // Puts still running belong to this seal, so it does not end before them.
      await this.#sink.settle().catch(() => undefined)
      throw this.#translated(error)
    }
  }

  async #addPack(payload: Buffer): Promise<void> {
    const id = payload.readUInt32LE(0)
    const sourceBytes = payload.readUInt32LE(4)
    if (id < this.#job.nextPack || this.#packs.has(id) || sourceBytes > packBytes)
      throw new SealFailed('the tree program sent an invalid pack')
    const content = payload.subarray(8)
    const pack = { id, sourceBytes, sizeBytes: content.length }
    this.#packs.set(id, { ...pack, content })
    this.#checkStored()
    await this.#sink.add(content, blob => this.#packs.set(id, { ...pack, content: blob }))
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
    if (part === undefined) throw new SealFailed('the tree program named an unknown part of the previous index')
    this.#index[this.#parts++] = part
    this.#sink.reuse(part)
  }

  async #finish(done: SealDone): Promise<Sealed> {
    const packs = this.#packsInUse(done)
    const nextPack = Math.max(this.#job.nextPack, ...packs.map(pack => pack.id + 1))
    let table: BlobRef | undefined
    // Runs while other blobs are being stored; the manifest is made after all were read back.
    await this.#sink.add(encodePackTable({ nextPack, packs }), blob => {
      table = blob
    })
    await this.#sink.settle()
    if (table === undefined) throw new SealFailed('the pack table was not stored')
    const { files, directories, links, sourceBytes, readBytes, omitted, counted } = done
    const storedBytes = [...packs, ...this.#index, table].reduce((sum, blob) => sum + blob.sizeBytes, 0)
    refuseOver('stored', this.#options.limits.storedBytes, storedBytes, true)
    const totals = { files, directories, links, sourceBytes, storedBytes }
    const manifest = encodeManifest({ ...totals, index: this.#index, packs: table })
    refuseOver('manifest', this.#options.limits.manifestBytes, manifest.length)
    const manifestSha256 = sha256Of(manifest)
    return {
      ...{ manifest, manifestSha256, ...totals, newBytes: this.#sink.newBytes, readBytes, omitted },
      ...(counted !== undefined && { counted }),
    }
  }

  /** Returns the previous and the new packs that hold content of this tree. */
  #packsInUse({ live }: SealDone): readonly Pack[] {
    const before = new Map(this.#previous.table.packs.map(pack => [pack.id, pack]))
    return live
      .map(([id, liveBytes]) => {
        const pack = this.#newPack(id) ?? before.get(id)
        if (pack === undefined || liveBytes > pack.sourceBytes)
          throw new SealFailed('the tree program named content outside its packs')
        return { ...pack, liveBytes }
      })
      .sort((one, other) => one.id - other.id)
  }

  #newPack(id: number): Omit<Pack, 'liveBytes'> | undefined {
    const pack = this.#packs.get(id)
    if (pack === undefined) return undefined
    const { content, ...rest } = pack
    return { ...rest, sha256: 'sha256' in content ? content.sha256 : sha256Of(content) }
  }

  /** Ends a seal as soon as its new packs alone exceed the cap. */
  #checkStored(): void {
    let stored = 0
    for (const pack of this.#packs.values()) stored += pack.sizeBytes
    refuseOver('stored', this.#options.limits.storedBytes, stored)
  }

  #translated(error: unknown): unknown {
    if (error instanceof ProgramLost) return new SealFailed(error.message, { cause: error, bound: error.bound })
    if (!(error instanceof ProgramGaveUp)) return error
    const { failure } = error
    if (failure.code === 'secret') return new SecretFound(failure.path)
    if (failure.code !== 'over_limit') return new SealFailed(error.message)
    const { limits } = this.#options
    const limit = { files: limits.files, source: limits.sourceBytes, index: limits.indexBytes }[failure.limit]
    const { limit: cap, atLeast, sourceBytes, path } = failure
    return new CapExceeded({
      ...{ kind: 'over_cap', cap, limit, atLeast },
      ...(sourceBytes !== undefined && { sourceBytes }),
      ...(path !== undefined && { path }),
    })
  }
}

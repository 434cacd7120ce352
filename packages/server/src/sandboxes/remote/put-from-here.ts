import type { BlobRef } from '../../storage/blobs/blobs.ts'
import type { LentUpload } from '../../storage/blobs/lent-upload.ts'
import type { PutFromHere } from './divert-packs.ts'

/** Asks the worker for the request that puts a pack of a program. */
export type AskUpload = (program: string, blob: BlobRef, signal: AbortSignal) => Promise<LentUpload | null>

export interface HostUploadsOptions {
  readonly ask: AskUpload
  readonly log: { warn(fields: object, message: string): void }
  /** Longest time for one pack. */
  readonly putMs?: number
}

const PUT_MS = 60_000
/** A store that could not be reached is left alone this long: packs go through the worker meanwhile. */
const PAUSE_MS = 5 * 60_000

/** Puts packs of this host's programs into the store of its service. */
export class HostUploads {
  readonly #options: HostUploadsOptions
  #pausedUntil = 0

  constructor(options: HostUploadsOptions) {
    this.#options = options
  }

  /** Returns how content of a program is put. */
  readonly of =
    (program: string): PutFromHere =>
    async (blob, content) => {
      if (performance.now() < this.#pausedUntil) return false
      try {
        return await this.#put(program, blob, content)
      } catch (error) {
        this.#pausedUntil = performance.now() + PAUSE_MS
        this.#options.log.warn({ err: error }, 'this host cannot put packs into the store: they go through the worker')
        return false
      }
    }

  async #put(program: string, blob: BlobRef, content: Uint8Array): Promise<boolean> {
    const signal = AbortSignal.timeout(this.#options.putMs ?? PUT_MS)
    const upload = await this.#options.ask(program, blob, signal)
    if (upload === null) return false
    const { url, headers } = upload
    const body = new Uint8Array(content)
    const answer = await fetch(url, { method: 'PUT', headers, body, redirect: 'error', signal })
    await answer.body?.cancel()
    if (!answer.ok) throw new Error(`the store answered ${answer.status}`)
    return true
  }
}

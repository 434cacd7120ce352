import { StringDecoder } from 'node:string_decoder'
import { keepEnd, keepStart } from '../utf8.ts'
import { MAX_HEAD_BYTES, MAX_TAIL_BYTES } from './protocol.ts'

/**
 * Passes the beginning of an output on as it comes and keeps its end, so an endless output costs a bounded journal and
 * a bounded memory.
 */
export class BoundedOutput {
  readonly #report: (message: { out: string } | { tail: string }) => void
  readonly #decoder = new StringDecoder('utf8')
  #left = MAX_HEAD_BYTES
  #tail: Buffer[] = []
  #tailBytes = 0
  #isCut = false

  constructor(report: (message: { out: string } | { tail: string }) => void) {
    this.#report = report
  }

  push(chunk: Buffer): void {
    this.#take(this.#decoder.write(chunk))
  }

  /** Passes the end on, if the output was longer than its beginning. */
  end(): void {
    this.#take(this.#decoder.end())
    if (!this.#isCut) return
    const tail = Buffer.concat(this.#tail)
    this.#report({ tail: keepEnd(tail, MAX_TAIL_BYTES).toString() })
  }

  #take(text: string): void {
    if (text === '') return
    const bytes = Buffer.from(text.replaceAll('\0', '\uFFFD'))
    this.#keep(bytes)
    if (this.#isCut) return
    const head = keepStart(bytes, this.#left)
    this.#left -= head.length
    this.#isCut = head.length < bytes.length
    if (head.length > 0) this.#report({ out: head.toString() })
  }

  #keep(bytes: Buffer): void {
    this.#tail.push(bytes)
    this.#tailBytes += bytes.length
    while (this.#tailBytes - (this.#tail[0]?.length ?? 0) >= MAX_TAIL_BYTES) {
      this.#tailBytes -= this.#tail.shift()?.length ?? 0
    }
  }
}

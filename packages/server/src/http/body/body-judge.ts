import { Worker } from 'node:worker_threads'
import { ApiError } from '../../kit/api-error.ts'
import type { JudgeAnswer, JudgeOrder } from './body-worker.ts'

/** A parsed body takes several times its bytes: the largest, and room to collect the one before. */
const heapMegabytes = 1024

interface Waiting {
  readonly resolve: (answer: Found) => void
  readonly reject: (error: Error) => void
}

/** A large body that the contract takes. */
export interface Found extends Extract<JudgeAnswer['found'], { kind: 'valid' }> {
  readonly bytes: Buffer
}

/**
 * Parses and judges large bodies of the gateway on a thread of its own. The largest takes 0.3 s of a processor, for which
 * the event loop would answer nobody. The thread starts with the first large body.
 */
export class BodyJudge {
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | null = null
  #tickets = 0

  /**
   * Judges a body, whose memory belongs to the judge until it answers.
   * @throws ApiError 400 for a body that the contract refuses
   * @throws Error if the thread has died of it
   */
  judge(order: Omit<JudgeOrder, 'ticket' | 'bytes'>, body: Buffer): Promise<Found> {
    const { promise, resolve, reject } = Promise.withResolvers<Found>()
    this.#tickets += 1
    const ticket = this.#tickets
    this.#waiting.set(ticket, { resolve, reject })
    const bytes = ownMemory(body)
    const message: JudgeOrder = { ...order, ticket, bytes }
    this.#worker ??= this.#start()
    this.#worker.postMessage(message, [bytes.buffer])
    return promise
  }

  /** Ends the thread. Bodies that it has not judged are given up. */
  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #start(): Worker {
    const worker = new Worker(new URL('./body-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
    })
    // A service that has nothing else to do ends.
    worker.unref()
    worker.on('message', (answer: JudgeAnswer) => this.#answered(answer))
    let cause: unknown
    worker.on('error', error => {
      cause = error
    })
    worker.once('exit', () => {
      this.#worker = null
      const waiting = [...this.#waiting.values()]
      this.#waiting.clear()
      for (const { reject } of waiting) reject(new Error('the thread that judges bodies has ended', { cause }))
    })
    return worker
  }

  #answered({ ticket, bytes, found }: JudgeAnswer): void {
    const waiting = this.#waiting.get(ticket)
    this.#waiting.delete(ticket)
    if (found.kind === 'refused') waiting?.reject(new ApiError(found.status, found.code, { fields: found.fields }))
    else waiting?.resolve({ ...found, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) })
  }
}

/** The same bytes in memory that they share with no other buffer, so that it can change threads. */
function ownMemory(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes
  // A small buffer may lie in the pool of the process, which cannot be given away.
  return buffer instanceof ArrayBuffer && byteLength > 1024 ** 2
    ? new Uint8Array(buffer, byteOffset, byteLength)
    : Uint8Array.from(bytes)
}

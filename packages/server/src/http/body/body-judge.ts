import { Worker } from 'node:worker_threads'
import { ApiError } from '../../kit/api-error.ts'
import type { JudgeAnswer, JudgeOrder } from './body-worker.ts'

/**
 * Heap limit of the thread. A parsed body takes several times its bytes; this fits the largest one and an uncollected
 * earlier one.
 */
const heapMegabytes = 1024

interface Waiting {
  readonly resolve: (answer: Found) => void
  readonly reject: (error: Error) => void
}

/** A large body that satisfies the contract. */
export interface Found extends Extract<JudgeAnswer['found'], { kind: 'valid' }> {
  readonly bytes: Buffer
}

/**
 * Parses and validates large gateway bodies on its own thread. The largest takes 0.3 s of processor time, which would
 * block the event loop. The thread starts with the first large body.
 */
export class BodyJudge {
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | null = null
  #tickets = 0

  /**
   * Validates a body. The judge owns the body's memory until it answers.
   * @throws ApiError 400 for a body that violates the contract
   * @throws Error if the thread died
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

  /** Ends the thread. Bodies still in progress are rejected. */
  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #start(): Worker {
    const worker = new Worker(new URL('./body-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
    })
    // An idle thread must not keep the process alive.
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
      for (const { reject } of waiting) reject(new Error('the thread that validates request bodies exited', { cause }))
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

/** Returns the bytes in memory of their own, so that it can be transferred to another thread. */
function ownMemory(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes
  // A small buffer may lie in Node's shared pool, which cannot be transferred.
  return buffer instanceof ArrayBuffer && byteLength > 1024 ** 2
    ? new Uint8Array(buffer, byteOffset, byteLength)
    : Uint8Array.from(bytes)
}

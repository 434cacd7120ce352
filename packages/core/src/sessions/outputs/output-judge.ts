import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadAt } from '@berth/platform/kit/package-files.ts'
import { Semaphore } from '@berth/platform/kit/semaphore.ts'
import { rejected, type Verdict } from './judge-output.ts'
import type { OutputOrder } from './output-worker.ts'

/**
 * Processor time for one judgement. A pattern takes time in proportion to the text, but a schema may hold many, and
 * `uniqueItems` compares all pairs.
 */
const PROCESSOR_MS = 2_000
/** Time between two looks at the processor time of a judgement. */
const POLL_MS = 50
/** Heap limit of the thread. The largest value and the code of the largest schema take a fraction of it. */
const HEAP_MEGABYTES = 256

/**
 * Holds agents' answers against the schemas of their Turns, on a thread of its own: schema and answer come from a tenant,
 * and the event loop serves all of them. The thread starts with the first judgement and takes one at a time, of the
 * organizations that wait in turn. Each is bounded by the thread's processor time, which other load on the machine does
 * not use up. A value that cannot be judged within it is rejected.
 */
export class OutputJudge implements AsyncDisposable {
  readonly #processorMs: number
  #thread: Promise<Worker> | null = null
  readonly #turns = new Semaphore(1)

  constructor(processorMs = PROCESSOR_MS) {
    this.#processorMs = processorMs
  }

  /**
   * Finds the JSON value in an answer, and holds it against a schema that was accepted.
   * @param schema its JSON
   * @throws Error if the thread ended for another reason than the judgement
   */
  async judge(organizationId: string, schema: string, answer: string): Promise<Verdict> {
    using _turn = await this.#turns.take(null, organizationId)
    return await this.#judge({ schema, answer })
  }

  /** Ends the thread. */
  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#thread)?.terminate()
  }

  async #judge(order: OutputOrder): Promise<Verdict> {
    this.#thread ??= this.#start()
    const thread = await this.#thread
    const { promise, resolve, reject } = Promise.withResolvers<Verdict>()
    // The thread may end before anybody waits for the verdict.
    promise.catch(() => undefined)
    let cause: unknown
    const failed = (error: unknown) => {
      cause = error
    }
    // A thread that has failed takes orders until it ends, and the next order must not go to it.
    const lost = () =>
      isOutOfMemory(cause)
        ? resolve(rejected('takes too much memory to be checked; give shorter texts and lists'))
        : reject(new Error('the thread that judges outputs ended', { cause }))
    thread.on('message', resolve).on('error', failed).on('exit', lost)
    let watch: NodeJS.Timeout | undefined
    try {
      const before = await thread.cpuUsage()
      const poll = async () => {
        const { user, system } = await thread.cpuUsage(before)
        if ((user + system) / 1_000 < this.#processorMs) return
        thread.off('exit', lost)
        await thread.terminate()
        resolve(rejected('takes too long to be checked; give shorter texts and lists'))
      }
      // A thread that has ended meanwhile cannot be asked; its end is heard of anyway.
      watch = setInterval(() => poll().catch(() => undefined), POLL_MS)
      thread.postMessage(order)
      return await promise
    } finally {
      clearInterval(watch)
      thread.off('message', resolve).off('error', failed).off('exit', lost)
    }
  }

  /** Starts the thread, and waits until its modules are loaded: that is no part of a judgement. */
  async #start(): Promise<Worker> {
    const thread = new Worker(threadAt('core/sessions/outputs/output-worker'), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
    })
    // An idle thread must not keep the process alive.
    thread.unref()
    thread.on('error', () => undefined)
    thread.once('exit', () => {
      this.#thread = null
    })
    await once(thread, 'message')
    return thread
  }
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'

import { once } from 'node:events'
import { boundOf, type HelperBound } from '@berth/sandboxes/helper-bounds.ts'
import type { NewBaseline, ProgramRun, TreeAccess } from '@berth/sandboxes/lease-program.ts'
import type { Tree } from '@berth/sandboxes/tree.ts'
import { frameTypes, maxFrameBytes, type TreeFailure, type TreeJob } from '@berth/supervisor/tree'
import { type Frame, frameHeader, readFrames } from '@berth/supervisor/tree/frames'

/** The tree program ended without reporting a result. */
export class ProgramLost extends Error {
  override readonly name = 'ProgramLost'
  /** The bound that ended the program. */
  readonly bound: HelperBound | undefined

  constructor(message: string, options: ErrorOptions & { readonly bound?: HelperBound | undefined } = {}) {
    super(message, options)
    this.bound = options.bound
  }
}

/** The tree program reported a failure. */
export class ProgramGaveUp extends Error {
  override readonly name = 'ProgramGaveUp'
  readonly failure: TreeFailure

  constructor(failure: TreeFailure) {
    super('message' in failure ? `${failure.code}: ${failure.message}` : failure.code)
    this.failure = failure
  }
}

function lost(outcome: string): ProgramLost {
  const [end = '', ...rest] = outcome.split(' ')
  const bound = boundOf(/^\d+$/.test(end) ? Number(end) : end, rest.join(' '))
  const why = bound === undefined ? outcome : `over its bound of ${bound} (${outcome})`
  // This kill is for the memory of all helper programs together. Another may have used too much, so a retry may pass.
  const isItsOwn = end !== '137' && end !== 'SIGKILL'
  return new ProgramLost(`the tree program ended: ${why}`, { bound: isItsOwn ? bound : undefined })
}

/** A running job of the tree program. */
export class Conversation implements AsyncDisposable {
  readonly #program: ProgramRun
  readonly #signal: AbortSignal | undefined
  readonly #frames: AsyncGenerator<Frame>
  readonly #kill: () => void

  private constructor(program: ProgramRun, signal: AbortSignal | undefined) {
    this.#program = program
    this.#signal = signal
    this.#frames = readFrames(program.output, maxFrameBytes)
    this.#kill = () => program.kill()
    signal?.addEventListener('abort', this.#kill)
    // The next call of `next` handles the error.
    program.ended.catch(() => undefined)
    // Node drops the output of a child that has exited and that nobody reads yet, and with it the report of a failure.
    program.output.on('readable', () => undefined)
  }

  /** Starts the program, which then waits for its job. The caller must dispose of the conversation however it ends. */
  static async start(
    tree: Tree,
    access: TreeAccess,
    options: { baseline?: Parameters<Tree['run']>[1]; signal?: AbortSignal | undefined },
  ): Promise<Conversation> {
    options.signal?.throwIfAborted()
    const program = await tree.run(access, options.baseline)
    const conversation = new Conversation(program, options.signal)
    if (options.signal?.aborted) program.kill()
    return conversation
  }

  /** The baseline that the program writes. */
  get baseline(): NewBaseline {
    const { baseline } = this.#program
    if (baseline === undefined) throw new Error('the program writes no baseline')
    return baseline
  }

  /** Sends the program its job, which is its first input. */
  order(job: TreeJob): void {
    this.#write(frameTypes.job, [Buffer.from(JSON.stringify(job))])
  }

  /** Sends a frame; resolves when there is room for the next one, or none is taken any more: then `next` tells why. */
  async send(type: number, ...parts: readonly Uint8Array[]): Promise<void> {
    const { input, ended } = this.#program
    if (input.destroyed || this.#write(type, parts)) return
    const over = new AbortController()
    const until = { signal: this.#signal ? AbortSignal.any([over.signal, this.#signal]) : over.signal }
    try {
      // The end of a child comes only after all of its output was read; its input closes before that.
      await Promise.race([...['drain', 'close'].map(event => once(input, event, until)), ended])
    } catch {
      // A broken pipe: the program has given up.
      this.#signal?.throwIfAborted()
    } finally {
      over.abort()
    }
  }

  /** Ends the program's input. */
  end(): void {
    this.#program.input.end()
  }

  /**
   * Returns the program's next frame.
   *
   * @throws ProgramGaveUp, ProgramLost, or the signal's reason
   */
  async next(): Promise<Frame> {
    let result: IteratorResult<Frame, unknown>
    try {
      result = await this.#frames.next()
    } catch (error) {
      this.#signal?.throwIfAborted()
      throw new ProgramLost('the tree program broke off', { cause: error })
    }
    this.#signal?.throwIfAborted()
    if (result.done) throw lost(await this.#program.ended)
    if (result.value.type !== frameTypes.failed) return result.value
    // The program runs with the agent's uid, though out of the agent's reach, so its report is not trusted.
    throw new ProgramGaveUp(JSON.parse(result.value.payload.toString()) as TreeFailure)
  }

  /** Ends the program if it still runs, and waits until it no longer holds the tree. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#kill)
    this.#program.kill()
    this.#program.output.destroy()
    await this.#program.ended.catch(() => undefined)
  }

  #write(type: number, parts: readonly Uint8Array[]): boolean {
    const { input } = this.#program
    let room = input.write(
      frameHeader(
        type,
        parts.reduce((sum, part) => sum + part.length, 0),
      ),
    )
    for (const part of parts) room = input.write(part)
    return room
  }
}

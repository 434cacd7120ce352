import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { asObject } from '@berth/platform/kit/json.ts'
import { withShortPath } from '../egress/socket-directory.ts'
import { readFrame } from '../line/frame.ts'
import { Line } from '../line/line.ts'
import { HostAwayError } from '../line/line-error.ts'
import { driverErrors } from '../remote/wire.ts'
import { MAX_HELLO_BYTES, type PartName, partBounds, partSocketName } from './part-names.ts'

/** A part says who it is within this time. */
const HELLO_MS = 10_000
/** Connections that have not said who they are. The sandbox's programs can make some. */
const MAX_UNKNOWN = 16
/** A part that is not back for so long is dead: it dials again as soon as it can. */
const AWAY_MS = 5_000
const KEY = /^[0-9a-f]{64}$/

/** A part of this pod and its line, which it dials. */
export class PartLine implements AsyncDisposable {
  readonly #part: PartName
  readonly #isRight: (key: string) => boolean
  readonly #server: Server
  readonly #awayMs: number
  #line: { readonly line: Line; readonly key: string } | undefined
  #unknown = 0
  readonly #waiting = new Set<() => void>()

  private constructor(part: PartName, isRight: (key: string) => boolean, awayMs: number) {
    this.#part = part
    this.#isRight = isRight
    this.#awayMs = awayMs
    this.#server = createServer(socket => {
      socket.on('error', () => undefined)
      if (this.#unknown >= MAX_UNKNOWN) return void socket.destroy()
      this.#unknown += 1
      this.#take(socket)
        .catch(() => socket.destroy())
        .finally(() => {
          this.#unknown -= 1
        })
    })
  }

  /**
   * Listens for a part.
   * @param directory of the socket, in which only this process's user may write
   * @param isRight judges the key of a process that says it is this part
   */
  static async listen(
    directory: string,
    part: PartName,
    isRight: (key: string) => boolean,
    awayMs: number = AWAY_MS,
  ): Promise<PartLine> {
    const made = new PartLine(part, isRight, awayMs)
    await withShortPath(directory, async short => {
      const path = short(partSocketName)
      rmSync(path, { force: true })
      made.#server.listen({ path, readableAll: true, writableAll: true })
      await once(made.#server, 'listening')
    })
    return made
  }

  /** The line and the key of the part, if it is here. */
  get now(): { readonly line: Line; readonly key: string } | undefined {
    return this.#line?.line.isOpen === true ? this.#line : undefined
  }

  /** Waits for the part, however long. */
  async arrived(): Promise<void> {
    while (this.now === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting.add(resolve)
      await promise
    }
  }

  /**
   * Returns the line, or waits a little for one.
   * @throws HostAwayError if the part does not come
   */
  async line(): Promise<Line> {
    const before = this.now
    if (before !== undefined) return before.line
    const over = new AbortController()
    const away = sleep(this.#awayMs, undefined, { signal: over.signal }).catch(() => undefined)
    await Promise.race([this.arrived(), away])
    over.abort()
    const after = this.now
    if (after === undefined) throw new HostAwayError(`the container ${this.#part} of this pod is not there`)
    return after.line
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    await this.#line?.line[Symbol.asyncDispose]()
  }

  async #take(socket: Socket): Promise<void> {
    const hello = await readFrame(socket, MAX_HELLO_BYTES, AbortSignal.timeout(HELLO_MS))
    const { part, key } = asObject(hello)
    if (part !== this.#part || typeof key !== 'string' || !KEY.test(key) || !this.#isRight(key)) {
      socket.destroy()
      return
    }
    this.#line?.line.destroy(new HostAwayError('the part has dialled again'))
    const line = new Line(socket, { errors: driverErrors, bounds: partBounds })
    this.#line = { line, key }
    for (const next of this.#waiting) next()
    this.#waiting.clear()
  }
}

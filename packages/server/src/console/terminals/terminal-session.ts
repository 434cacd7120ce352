import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { touchLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { readTerminalSnapshot, type TerminalSnapshot } from '@berth/core/sessions/terminals/terminal-snapshot-sql.ts'
import { endTerminal, keepAwake, noteTyping, type TerminalRow } from '@berth/core/sessions/terminals/terminal-sql.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import { orderTerminal, TerminalLineBroken } from '@berth/sandboxes/terminal-line.ts'
import {
  MAX_TERMINAL_FRAME_BYTES,
  type TerminalExit,
  type TerminalSize,
  terminalFrames,
} from '@berth/supervisor/terminals'
import { frameHeader, readFrames } from '@berth/supervisor/tree/frames'
import type { WebSocket } from 'ws'
import { type ClientMessage, parseClientMessage, type TerminalStop } from './client-message.ts'
import { closeTerminal } from './end-terminal.ts'
import type { TerminalPlace } from './terminal-place.ts'

/** Longest time to the page's first message, and to the start of the shell. */
const OPEN_MS = 10_000
const START_MS = 60_000
/** Time between two looks at the rows, which also keep the sandbox running for four of them. */
const BEAT_MS = 5_000
/** The idle time of a lease moves at most this often while somebody types. */
const TOUCH_MS = 10_000
/** So often a supervisor is asked whether it lives, while its line breaks before it answers. */
const MAX_REQUESTS = 5
/** Output goes to the page in pieces of this size. */
const PIECE_BYTES = 32 * 1024

/** Says in both directions that a connection has come to its end. */
const CLOSED = 1000

/** A terminal has stopped for this page; the reason is told to it. */
class Stopped extends Error {
  readonly reason: TerminalStop
  readonly code: number | null

  constructor(reason: TerminalStop, code: number | null = null) {
    super(reason)
    this.reason = reason
    this.code = code
  }
}

/** The page has left. */
class PageLeft extends Error {}

/**
 * One page in front of a terminal: from its WebSocket to the sandbox's supervisor and back. Whatever the page has given no
 * credit for stays in the terminal, whose program then waits; nothing is buffered here.
 */
export class TerminalSession {
  readonly #place: TerminalPlace
  readonly #socket: WebSocket
  readonly #terminal: TerminalRow
  readonly #end = new AbortController()
  readonly #opened = Promise.withResolvers<TerminalSize>()
  /** Whether the page has answered the close. */
  readonly #answered = Promise.withResolvers<boolean>()
  #line: Duplex | undefined
  #credit = 0
  #credited: () => void = () => {}
  #touched = Number.NEGATIVE_INFINITY
  #checking: Promise<void> | null = null

  constructor(place: TerminalPlace, socket: WebSocket, terminal: TerminalRow) {
    this.#place = place
    this.#socket = socket
    this.#terminal = terminal
    this.#opened.promise.catch(() => undefined)
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.#typed(data)
      else this.#receive(parseClientMessage(data.toString()))
    })
    socket.on('error', () => {})
    socket.once('close', code => {
      this.#answered.resolve(code === CLOSED)
      this.#stop(new PageLeft('the page left'))
    })
  }

  /** Serves the page until it leaves or the terminal ends for it. */
  async run(): Promise<void> {
    const { wakeups, log } = this.#place.context
    const { signal } = this.#end
    let hasExited = false
    const unsubscribe = wakeups.subscribe(topics.terminal(this.#terminal.id), () => this.#check())
    const beat = setInterval(() => this.#check(), Math.min(BEAT_MS, this.#place.authorityMs))
    try {
      await this.#serve(signal)
    } catch (error) {
      const reason: unknown = signal.aborted ? signal.reason : error
      hasExited = reason instanceof Stopped && reason.reason === 'exited'
      if (reason instanceof Stopped) this.#reply({ ended: { reason: reason.reason, code: reason.code } })
      else if (!(reason instanceof PageLeft)) log.warn({ err: reason }, 'a terminal broke off')
      this.#socket.close(reason instanceof Stopped ? CLOSED : 1011)
      // Input may have waited for the shell. Unread, it would hold back the page's answer to the close.
      this.#socket.resume()
    } finally {
      clearInterval(beat)
      unsubscribe()
      this.#line?.destroy()
    }
    if (hasExited) await this.#endExited()
  }

  /**
   * Ends the terminal of a shell that has exited, once the page has answered the close, and so was told the exit. A page
   * whose connection broke before comes back for it.
   */
  async #endExited(): Promise<void> {
    const { db, clock } = this.#place.context
    if (await this.#answered.promise) await endTerminal(db, this.#terminal.id, 'exited', clock.now())
  }

  async #serve(signal: AbortSignal): Promise<void> {
    const late = setTimeout(() => this.#stop(new Stopped('protocol')), OPEN_MS)
    const size = await this.#orStopped(this.#opened.promise).finally(() => clearTimeout(late))
    await this.#started(signal)
    const line = await this.#attach(size, signal)
    for await (const { type, payload } of readFrames(line, MAX_TERMINAL_FRAME_BYTES)) {
      if (type === terminalFrames.output) await this.#show(payload)
      else if (type === terminalFrames.exit) {
        const { code }: TerminalExit = JSON.parse(payload.toString())
        await this.#exited(code)
      }
    }
    // A look that is under way may have read the rows before they said why the line ended.
    await this.#poll()
    signal.throwIfAborted()
    throw new Stopped((await this.#isGone()) ? 'workspace_lost' : 'moved')
  }

  /** Waits for the worker of the host. */
  async #started(signal: AbortSignal): Promise<void> {
    const { context } = this.#place
    for (const begun = performance.now(); performance.now() - begun < START_MS; ) {
      const woken = Promise.withResolvers<void>()
      const unsubscribe = context.wakeups.subscribe(topics.terminal(this.#terminal.id), () => woken.resolve())
      try {
        if ((await this.#snapshot()).state === 'started') return
        await Promise.race([woken.promise, sleep(500, undefined, { signal })])
      } finally {
        unsubscribe()
      }
    }
    await closeTerminal(this.#place, this.#terminal, 'failed')
    throw new Stopped('failed')
  }

  async #attach(size: TerminalSize, signal: AbortSignal): Promise<Duplex> {
    const { id } = this.#terminal
    const line = await this.#connect(signal).catch(error => {
      throw error instanceof SandboxGoneError ? new Stopped('workspace_lost') : error
    })
    this.#line = line
    const answer = await orderTerminal(line, { id, attach: size }, signal)
    if (answer.terminal !== 'attached') return this.#exited()
    // A page that does not read must not hold the end of the terminal back.
    signal.addEventListener('abort', () => line.destroy(), { once: true })
    line.on('drain', () => this.#socket.resume())
    this.#reply({ ready: { scrollback: answer.scrollback } })
    return line
  }

  /** @throws Stopped that the shell has exited, or what ended the terminal, and its shell with it */
  async #exited(code: number | null = null): Promise<never> {
    await this.#snapshot()
    throw new Stopped('exited', code)
  }

  /** Sends output as far as the page has credit, and reads no more before. */
  async #show(output: Buffer): Promise<void> {
    for (let at = 0; at < output.length; ) {
      while (this.#credit <= 0) {
        await this.#orStopped(
          new Promise<void>(resolve => {
            this.#credited = resolve
          }),
        )
      }
      const piece = output.subarray(at, at + Math.min(PIECE_BYTES, this.#credit))
      at += piece.length
      this.#credit -= piece.length
      const sent = new Promise<void>((resolve, reject) => {
        this.#socket.send(piece, { binary: true }, error => (error == null ? resolve() : reject(error)))
      })
      await this.#orStopped(sent)
    }
  }

  #receive(message: ClientMessage | null): void {
    if (message === null) this.#stop(new Stopped('protocol'))
    else if ('credit' in message) this.#grant(message.credit)
    else if ('resize' in message) this.#send(terminalFrames.resize, Buffer.from(JSON.stringify(message.resize)))
    else {
      const { credit, ...size } = message.open
      this.#grant(credit)
      this.#opened.resolve(size)
    }
  }

  #grant(credit: number): void {
    this.#credit += credit
    this.#credited()
  }

  /** Typing renews the lease; watching does not, nor does input that reaches no terminal. */
  #typed(bytes: Buffer): void {
    if (this.#end.signal.aborted || !this.#send(terminalFrames.input, bytes)) return
    const { context } = this.#place
    const now = context.clock.now()
    if (now.getTime() - this.#touched < TOUCH_MS) return
    this.#touched = now.getTime()
    const { organization_id: organizationId, session_id: sessionId, id } = this.#terminal
    Promise.all([noteTyping(context.db, id, now), touchLease(context.db, { organizationId, sessionId }, now)]).catch(
      error => {
        this.#touched = Number.NEGATIVE_INFINITY
        context.log.warn({ err: error }, 'typing at a terminal could not be noted')
      },
    )
  }

  /**
   * Before the terminal is there, input is dropped: nobody has seen a prompt.
   * @returns false if it was dropped
   */
  #send(type: number, payload: Buffer): boolean {
    const line = this.#line
    if (line === undefined || line.destroyed) return false
    line.write(frameHeader(type, payload.length))
    if (!line.write(payload)) this.#socket.pause()
    return true
  }

  #check(): Promise<void> {
    this.#checking ??= this.#poll().finally(() => {
      this.#checking = null
    })
    return this.#checking
  }

  /** Ends the terminal with the authority of its person, and the page's part with the terminal. */
  async #poll(): Promise<void> {
    const { context } = this.#place
    try {
      await this.#snapshot()
      await keepAwake(context.db, this.#terminal.id, new Date(context.clock.now().getTime() + 4 * BEAT_MS))
    } catch (error) {
      // Not knowing is no refusal: the next look asks again.
      if (error instanceof Stopped) this.#stop(error)
      else if (!(error instanceof DatabaseUnavailable))
        context.log.warn({ err: error }, 'a terminal could not be looked at')
    }
  }

  /** @throws Stopped if the page may not go on */
  async #snapshot(): Promise<TerminalSnapshot> {
    const { context, idleMs } = this.#place
    const { id, holder_id: holderId } = this.#terminal
    const now = context.clock.now()
    const snapshot = await readTerminalSnapshot(context.db, id, now, new Date(now.getTime() - idleMs))
    if (snapshot === null || snapshot.is_lost) throw new Stopped('workspace_lost')
    if (snapshot.state === 'ended') {
      const reason = snapshot.end_reason ?? 'closed'
      // The sandbox's worker may have seen the end of the right first, and closed the terminal.
      throw new Stopped(reason === 'closed' && !snapshot.stands ? 'access_ended' : reason)
    }
    // The row tells about the sign-in of the other page alone, so the end of this one's would go unseen.
    if (snapshot.holder_id !== holderId) throw new Stopped('moved')
    if (snapshot.stands) return snapshot
    const ended = new Stopped('access_ended')
    this.#stop(ended)
    await closeTerminal(this.#place, this.#terminal, 'closed')
    throw ended
  }

  /** @throws SandboxGoneError, or a fault of the way to the sandbox's machine */
  async #connect(signal: AbortSignal): Promise<Duplex> {
    const { context, doors } = this.#place
    const { lease_id: leaseId } = this.#terminal
    const door = await doors.toLease(context.db, leaseId)
    if (door === null) throw new Error(`no way leads to the sandbox of lease ${leaseId} from here`)
    return door.attach(leaseId, signal)
  }

  /**
   * Returns whether the sandbox has ended. While the kernel closes the descriptors of a killed supervisor one by one, its
   * socket may still take a connection after the terminal's has broken, so only an answer shows that it lives.
   */
  async #isGone(): Promise<boolean> {
    const signal = AbortSignal.timeout(OPEN_MS)
    for (let tries = 0; tries < MAX_REQUESTS; tries += 1) {
      try {
        // Nobody has such a terminal, so the supervisor does nothing but say so.
        const order = { id: randomUUID(), attach: { columns: 80, rows: 25 } }
        await orderTerminal(await this.#connect(signal), order, signal)
        return false
      } catch (error) {
        if (!(error instanceof TerminalLineBroken)) return error instanceof SandboxGoneError
      }
    }
    return false
  }

  #reply(message: object): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(message))
  }

  #stop(reason: Error): void {
    this.#end.abort(reason)
  }

  /** @throws the reason of the stop */
  async #orStopped<T>(wanted: Promise<T>): Promise<T> {
    const { signal } = this.#end
    signal.throwIfAborted()
    const done = new AbortController()
    try {
      const stopped = once(signal, 'abort', { signal: done.signal }).then(() => {
        throw signal.reason
      })
      stopped.catch(() => undefined)
      return await Promise.race([wanted, stopped])
    } finally {
      done.abort()
    }
  }
}

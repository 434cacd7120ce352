import { type BerthClient, BerthError, isPassing, type TerminalTicket } from '@berth/client'
import { WebSocket } from 'ws'
import { goneBy, type TerminalEnd } from './terminal-end.ts'

/** Output that the service may send ahead of the screen. */
const creditBytes = 512 * 1024
/** Pasted text is sent in pieces of this size. */
const pieceBytes = 32 * 1024
/** The service asks every 20 seconds whether somebody is there; after so long without it, the connection counts as dead. */
const silenceMs = 50_000
/** Attempts at the first connection after which it is given up. */
const maxFirstFailures = 5
const pausesMs = [250, 500, 1000, 2000, 5000] as const

/** The view of a terminal. */
export interface Screen {
  readonly columns: number
  readonly rows: number
  /**
   * Called when the terminal is there. `scrollback` bytes of old output follow; with `again`, after a lost connection,
   * this window has shown some of them.
   */
  ready(again: boolean, scrollback: number): Promise<void>
  write(output: Uint8Array): Promise<void>
  /** Says that the connection is lost. */
  lost(): Promise<void>
}

export interface TerminalLinkOptions {
  readonly client: BerthClient
  readonly sessionId: string
  /** The terminal to return to; undefined: a new one. */
  readonly terminalId: string | undefined
  readonly screen: Screen
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

/**
 * A window's connection to a terminal of a Session. A broken one is made again, with another ticket each time, until the
 * terminal has ended. Output is taken as fast as the screen shows it, and no faster.
 */
export class TerminalLink {
  readonly #options: TerminalLinkOptions
  readonly #left = new AbortController()
  #terminalId: string | undefined
  #socket: WebSocket | null = null
  #isReady = false

  constructor(options: TerminalLinkOptions) {
    this.#options = options
    this.#terminalId = options.terminalId
  }

  /** The terminal; '' before there is one. */
  get terminalId(): string {
    return this.#terminalId ?? ''
  }

  /**
   * Serves the window until the terminal has ended for it.
   * @throws BerthError if the service refuses at the first attempt, or later for good
   */
  async run(): Promise<TerminalEnd> {
    let failures = 0
    for (let isFirst = true; ; ) {
      const outcome = await this.#once(isFirst)
      if (this.#left.signal.aborted) return { reason: 'left', code: null }
      if (outcome !== 'lost' && outcome !== 'never') return outcome
      if (outcome === 'lost') {
        await this.#options.screen.lost()
        failures = 0
        isFirst = false
      }
      if (isFirst && failures === maxFirstFailures) {
        throw new Error('the connection to the terminal was not made; does a proxy hold WebSockets back?')
      }
      const pause = pausesMs[Math.min(failures, pausesMs.length - 1)] ?? 5000
      failures++
      await this.#options.sleep(pause, this.#left.signal).catch(() => {})
    }
  }

  /** Sends typed bytes; without a terminal they are dropped, because nobody has seen a prompt. */
  type(bytes: Uint8Array): void {
    const socket = this.#socket
    if (socket === null || !this.#isReady || socket.readyState !== WebSocket.OPEN) return
    for (let at = 0; at < bytes.length; at += pieceBytes) socket.send(bytes.subarray(at, at + pieceBytes))
  }

  /** Tells the terminal the size that the screen has now. */
  resize(): void {
    const { columns, rows } = this.#options.screen
    if (this.#isReady) this.#send({ resize: { columns, rows } })
  }

  /** Leaves the terminal, which goes on. */
  leave(): void {
    this.#left.abort()
    this.#socket?.close()
  }

  /** Resolves once the typed bytes are on their way. */
  async drained(): Promise<void> {
    while ((this.#socket?.bufferedAmount ?? 0) > pieceBytes && !this.#left.signal.aborted) {
      await this.#options.sleep(10, this.#left.signal).catch(() => {})
    }
  }

  /** @returns 'lost' if the connection broke off, 'never' if there was none */
  async #once(isFirst: boolean): Promise<TerminalEnd | 'lost' | 'never'> {
    const { client, sessionId, screen } = this.#options
    const { columns, rows } = screen
    let ticket: TerminalTicket
    try {
      const body = { columns, rows, ...(this.#terminalId !== undefined && { terminalId: this.#terminalId }) }
      ticket = await client.call('openTerminal', { sessionId, body }, { signal: this.#left.signal })
    } catch (failure) {
      if (this.#left.signal.aborted) return 'never'
      const reason = failure instanceof BerthError && !isFirst ? goneBy.get(failure.code ?? '') : undefined
      if (reason !== undefined) return { reason, code: null }
      if (isFirst || !isPassing(failure)) throw failure
      return 'never'
    }
    this.#terminalId = ticket.terminalId
    return this.#hold(ticket, !isFirst)
  }

  /** Holds one connection until it closes. */
  async #hold({ url, ticket }: TerminalTicket, again: boolean): Promise<TerminalEnd | 'lost' | 'never'> {
    const { screen } = this.#options
    // The service takes one origin, its console's own: a browser could not say it for another page.
    const origin = new URL(url.replace(/^ws/, 'http')).origin
    const socket = new WebSocket(url, ['berth.terminal.v1', `ticket.${ticket}`], { origin, perMessageDeflate: false })
    this.#socket = socket
    let end: TerminalEnd | null = null
    // Messages are shown one after the other, however slow the screen is.
    let shown: Promise<void> = Promise.resolve()
    let silence = setTimeout(() => socket.terminate(), silenceMs)
    socket.on('ping', () => {
      clearTimeout(silence)
      silence = setTimeout(() => socket.terminate(), silenceMs)
    })
    socket.on('error', () => {})
    let refused: number | null = null
    socket.on('unexpected-response', (_, { statusCode = 0 }) => {
      refused = statusCode
      socket.terminate()
    })
    socket.on('open', () => {
      const { columns, rows } = screen
      this.#send({ open: { columns, rows, credit: creditBytes } })
    })
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) {
        shown = shown.then(async () => {
          await screen.write(data)
          this.#send({ credit: data.length })
        })
        return
      }
      const message = JSON.parse(data.toString()) as { ready?: { scrollback: number }; ended?: TerminalEnd }
      if (message.ended !== undefined) end = message.ended
      const { ready } = message
      if (ready !== undefined) {
        shown = shown.then(async () => {
          await screen.ready(again, ready.scrollback)
          this.#isReady = true
          // The window may have changed while the terminal was on its way.
          this.resize()
        })
      }
    })
    await new Promise<void>(resolve => socket.once('close', () => resolve()))
    clearTimeout(silence)
    await shown
    if (refused !== null && refused >= 400 && refused < 500 && !again) {
      throw new Error(`the service refused the connection to the terminal with ${refused}`)
    }
    const wasReady = this.#isReady
    this.#isReady = false
    this.#socket = null
    return end ?? (wasReady ? 'lost' : 'never')
  }

  #send(message: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message))
  }
}

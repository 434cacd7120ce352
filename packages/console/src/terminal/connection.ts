import { BerthError } from '@berth/client'
import type { TerminalTicket } from '@berth/contract'
import { call } from '../api/client.ts'
import { rememberedTerminal, rememberTerminal } from './remembered.ts'
import { type ControlMessage, CREDIT_BYTES, type EndReason, openSocket, sendInput } from './wire.ts'

/** Where a terminal stands. */
export type TerminalState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  /** The connection broke; the terminal goes on, and the page comes back to it. */
  | { readonly kind: 'reconnecting' }
  | { readonly kind: 'ended'; readonly reason: EndReason; readonly code: number | null }
  | { readonly kind: 'refused'; readonly error: unknown }

/** The view of a terminal. */
export interface Screen {
  readonly columns: number
  readonly rows: number
  /** Empties the screen before old output comes again. */
  reset(): void
  /** Shows output; `shown` is called when that is done. */
  write(output: Uint8Array, shown: () => void): void
}

const PAUSES_MS = [250, 500, 1000, 2000, 5000] as const

/** The service's codes for a terminal that is gone. */
const goneBy: Readonly<Record<string, EndReason>> = {
  cloud_terminal_not_found: 'exited',
  cloud_workspace_expired: 'workspace_lost',
  cloud_session_not_found: 'workspace_lost',
}

/**
 * A page's connection to its terminal in a Session. It comes back by itself, with another ticket each time, until the
 * terminal has ended. Output is taken as fast as the screen shows it, and no faster.
 */
export class TerminalConnection {
  readonly #sessionId: string
  readonly #screen: Screen
  readonly #listeners = new Set<() => void>()
  #state: TerminalState = { kind: 'connecting' }
  #socket: WebSocket | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #isLeft = false
  #isAsking = false
  /** Bytes of old output that are still to be shown: the emulator's replies to them were sent long ago. */
  #replaying = 0
  #shown = 0

  constructor(sessionId: string, screen: Screen) {
    this.#sessionId = sessionId
    this.#screen = screen
    void this.#connect()
    addEventListener('online', this.#retry)
  }

  get state(): TerminalState {
    return this.#state
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Sends typed bytes. Input before the terminal is open is dropped. */
  type(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#state.kind === 'open' && this.#socket !== null) sendInput(this.#socket, bytes)
  }

  resize(columns: number, rows: number): void {
    if (this.#state.kind === 'open') this.#socket?.send(JSON.stringify({ resize: { columns, rows } }))
  }

  /** Leaves the terminal, which goes on. */
  leave(): void {
    this.#isLeft = true
    clearTimeout(this.#timer)
    removeEventListener('online', this.#retry)
    this.#socket?.close()
  }

  readonly #retry = (): void => {
    if (this.#state.kind !== 'reconnecting') return
    clearTimeout(this.#timer)
    void this.#connect()
  }

  async #connect(): Promise<void> {
    // A second ticket would take the terminal from the first, in this very page.
    if (this.#isAsking || this.#socket !== null) return
    this.#isAsking = true
    const terminalId = rememberedTerminal(this.#sessionId)
    const { columns, rows } = this.#screen
    try {
      const body = { columns, rows, ...(terminalId !== null && { terminalId }) }
      const ticket = await call<TerminalTicket>('POST', `sessions/${this.#sessionId}/terminals`, body)
      rememberTerminal(this.#sessionId, ticket.terminalId)
      if (!this.#isLeft) this.#listen(openSocket(ticket))
    } catch (error) {
      if (this.#isLeft) return
      const code = error instanceof BerthError ? error.code : null
      if (terminalId !== null && code !== null && code in goneBy) this.#end(goneBy[code] ?? 'exited', null)
      else if (error instanceof BerthError && error.status < 500) this.#notify({ kind: 'refused', error })
      else this.#later()
    } finally {
      this.#isAsking = false
    }
  }

  #listen(socket: WebSocket): void {
    this.#socket = socket
    socket.onopen = () => {
      const { columns, rows } = this.#screen
      socket.send(JSON.stringify({ open: { columns, rows, credit: CREDIT_BYTES } }))
    }
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (typeof data === 'string') this.#receiveControl(JSON.parse(data) as ControlMessage)
      else this.#show(socket, new Uint8Array(data))
    }
    socket.onclose = () => {
      this.#socket = null
      if (!this.#isLeft && this.#state.kind !== 'ended') this.#later()
    }
  }

  #receiveControl(message: ControlMessage): void {
    if ('ended' in message) {
      this.#end(message.ended.reason, message.ended.code)
      return
    }
    this.#failures = 0
    this.#shown = 0
    this.#replaying = message.ready.scrollback
    this.#screen.reset()
    if (this.#replaying <= 0) this.#open()
  }

  /** Reports that the terminal takes input, so not before its old output is shown. */
  #open(): void {
    this.#notify({ kind: 'open' })
    // The window may have changed while the terminal was on its way.
    this.resize(this.#screen.columns, this.#screen.rows)
  }

  #show(socket: WebSocket, output: Uint8Array): void {
    this.#screen.write(output, () => {
      // Output of an earlier connection counts for that one.
      if (this.#socket !== socket) return
      const wasReplaying = this.#replaying > 0
      this.#replaying -= output.length
      this.#shown += output.length
      if (wasReplaying && this.#replaying <= 0 && this.#state.kind !== 'ended') this.#open()
      if (this.#shown < CREDIT_BYTES / 8 || socket.readyState !== WebSocket.OPEN) return
      socket.send(JSON.stringify({ credit: this.#shown }))
      this.#shown = 0
    })
  }

  #end(reason: EndReason, code: number | null): void {
    // Another window has it: this tab may take it back.
    if (reason !== 'moved') rememberTerminal(this.#sessionId, null)
    this.#notify({ kind: 'ended', reason, code })
  }

  #later(): void {
    const pause = PAUSES_MS[Math.min(this.#failures, PAUSES_MS.length - 1)]
    this.#failures += 1
    this.#notify({ kind: 'reconnecting' })
    this.#timer = setTimeout(() => void this.#connect(), pause)
  }

  #notify(state: TerminalState): void {
    this.#state = state
    for (const listener of this.#listeners) listener()
  }
}

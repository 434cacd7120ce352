import { existsSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import {
  MAX_READ_BYTES,
  MAX_TERMINALS,
  type TerminalAnswer,
  type TerminalOrder,
  type TerminalStart,
} from './protocol.ts'
import { Terminal } from './terminal.ts'

/** Ends that are remembered, so that an order to start that comes late starts nothing. */
const MAX_ENDED = 256
/** Terminals kept after their shells have ended, for a page whose connection was broken then. */
const MAX_EXITED = 16

/** The terminals of this sandbox. They are no part of the journal: what people type is nobody's record. */
export class Terminals {
  readonly #terminals = new Map<string, Terminal>()
  readonly #exited = new Map<string, Terminal>()
  readonly #ended = new Set<string>()

  /** Returns whether there is no terminal, and no output that a page may still come for. */
  get areNone(): boolean {
    return this.#terminals.size === 0 && this.#exited.size === 0
  }

  /** Carries out an order and answers it. @param socket nothing reads it; it is closed, or the terminal's from here on */
  take(order: TerminalOrder, socket: Socket): void {
    const live = this.#terminals.get(order.id)
    const terminal = live ?? this.#exited.get(order.id)
    if ('end' in order) this.#noteEnd(order.id)
    if ('start' in order) {
      answer(socket, { terminal: terminal === undefined ? this.#start(order.id, order.start) : 'started' })
    } else if (terminal === undefined || (live === undefined && 'end' in order)) {
      if ('end' in order) terminal?.end()
      answer(socket, { terminal: 'unknown' })
    } else if ('read' in order) {
      const output = terminal.scrollback.subarray(-MAX_READ_BYTES).toString()
      answer(socket, { terminal: 'output', output, exit: terminal.exit })
    } else if ('attach' in order) {
      const { scrollback } = terminal
      socket.write(
        `${JSON.stringify({ terminal: 'attached', scrollback: scrollback.length } satisfies TerminalAnswer)}\n`,
      )
      terminal.attach(socket, order.attach, scrollback)
    } else {
      terminal.end()
      answer(socket, { terminal: 'ended' })
    }
  }

  #noteEnd(id: string): void {
    this.#exited.delete(id)
    this.#ended.add(id)
    const [oldest] = this.#ended
    if (this.#ended.size > MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest)
  }

  #noteExit(id: string, terminal: Terminal): void {
    this.#terminals.delete(id)
    if (this.#ended.has(id)) return
    this.#exited.set(id, terminal)
    const [oldest] = this.#exited.keys()
    if (this.#exited.size > MAX_EXITED && oldest !== undefined) this.#exited.delete(oldest)
  }

  #start(id: string, start: TerminalStart): 'started' | 'unknown' | 'too_many' | 'no_program' {
    if (this.#ended.has(id)) return 'unknown'
    if (this.#terminals.size >= MAX_TERMINALS) return 'too_many'
    const { PATH = '' } = start.env
    if (!PATH.split(':').some(directory => existsSync(join(directory, 'script')))) return 'no_program'
    const terminal: Terminal = new Terminal(id, start, failed => {
      if (failed) this.#terminals.delete(id)
      else this.#noteExit(id, terminal)
    })
    this.#terminals.set(id, terminal)
    return 'started'
  }
}

function answer(socket: Socket, reply: TerminalAnswer): void {
  socket.end(`${JSON.stringify(reply)}\n`)
}

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import type { Answer } from '../api/api.ts'

/** What a caller of `openTerminal` was given. */
export interface Ticket {
  readonly terminalId: string
  readonly url: string
  readonly ticket: string
}

/** Connects as a page does. */
export function connectTerminal(
  { url, ticket }: Pick<Ticket, 'url' | 'ticket'>,
  { origin = new URL(url.replace(/^ws/, 'http')).origin, protocols = ['berth.terminal.v1', `ticket.${ticket}`] } = {},
): WebSocket {
  return new WebSocket(url, protocols, origin === '' ? {} : { origin })
}

/** Returns the status and the code with which a connection is refused. */
export async function refusalOf(...parts: Parameters<typeof connectTerminal>): Promise<string> {
  const socket = connectTerminal(...parts)
  socket.on('error', () => {})
  const answered = once(socket, 'unexpected-response') as Promise<[unknown, IncomingMessage]>
  const opened = once(socket, 'open').then(() => 'opened')
  const refused = answered.then(async ([, response]) => {
    let text = ''
    for await (const chunk of response) text += chunk
    return `${response.statusCode} ${JSON.parse(text).error}`
  })
  const outcome = await Promise.race([opened, refused])
  socket.terminate()
  return outcome
}

/** A page in front of a terminal. */
export class TerminalClient implements AsyncDisposable {
  readonly socket: WebSocket
  /** Everything that was shown, as Latin-1. */
  output = ''
  scrollback: number | null = null
  ended: { readonly reason: string; readonly code: number | null } | null = null
  #wake: () => void = () => {}

  /** @param credit bytes that the client takes; null: all there are. `wait` ends before the client asks for its shell. */
  constructor(ticket: Ticket, { columns = 80, rows = 24, credit = null as number | null, wait = async () => {} } = {}) {
    this.socket = connectTerminal(ticket)
    this.socket.on('error', () => {})
    const open = { columns, rows, credit: credit ?? 1_000_000 }
    this.socket.on('open', () => wait().then(() => this.send({ open })))
    this.socket.on('close', () => this.#wake())
    this.socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) {
        this.output += data.toString('latin1')
        if (credit === null) this.send({ credit: data.length })
      } else {
        const { ready, ended } = JSON.parse(data.toString())
        if (ready !== undefined) this.scrollback = ready.scrollback
        if (ended !== undefined) this.ended = ended
      }
      this.#wake()
    })
  }

  send(message: object): void {
    this.socket.send(JSON.stringify(message))
  }

  type(text: string): void {
    this.socket.send(Buffer.from(text))
  }

  /** Waits until something was shown. @throws if the connection closes before */
  async until(pattern: RegExp): Promise<void> {
    await this.#until(() => pattern.test(this.output), String(pattern))
  }

  /** Waits until the terminal is there. */
  async ready(): Promise<this> {
    await this.#until(() => this.scrollback !== null, 'ready')
    return this
  }

  /** Waits for the end and returns its reason. */
  async end(): Promise<string | null> {
    if (this.socket.readyState !== WebSocket.CLOSED) await once(this.socket, 'close')
    return this.ended?.reason ?? null
  }

  async #until(isSo: () => boolean, what: string): Promise<void> {
    while (!isSo()) {
      if (this.socket.readyState === WebSocket.CLOSED) {
        throw new Error(`closed before ${what}: ${JSON.stringify(this.ended)} ${this.output.slice(-500)}`)
      }
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.terminate()
  }
}

/** Returns the ticket of an answer. @throws if it is none */
export function ticketOf({ status, body, text }: Answer): Ticket {
  if (status !== 201) throw new Error(`no ticket: ${status} ${text}`)
  return body as unknown as Ticket
}

import type { Socket } from 'node:net'
import type { Journal } from './journal.ts'
import { LineSplitter } from './line-splitter.ts'
import { takePort } from './ports/take-port.ts'
import {
  MAX_MESSAGE_BYTES,
  type ParkOrder,
  type PrepareOrder,
  type RetireOrder,
  type SupervisorGreeting,
  type WorkerMessage,
} from './protocol.ts'
import { signalAll } from './signal-all.ts'
import type { TerminalOrder } from './terminals/protocol.ts'
import { parseWorkerMessage } from './worker-message.ts'

const READ_BYTES = 256 * 1024
const NEWLINE_BYTE = 0x0a
const HELLO_DEADLINE_MS = 10_000

export type Hello = Extract<WorkerMessage, { hello: unknown }>['hello']
export type Command = Exclude<
  WorkerMessage,
  | { hello: unknown }
  | { ping: unknown }
  | { all: unknown }
  | { terminal: unknown }
  | { port: unknown }
  | { prepare: unknown }
  | { retire: unknown }
  | { park: unknown }
>

/** The owner of the fence and the agent, to which an attachment passes messages. */
export interface AttachmentHost {
  /** Answers the first message. After a `welcome`, only this attachment's commands count. */
  greet(hello: Hello, attachment: Attachment): SupervisorGreeting
  command(command: Command, attachment: Attachment): void
  /** Takes over a connection that nothing reads any more. */
  terminal(order: TerminalOrder, socket: Socket): void
  /** Takes over a connection that nothing reads any more. */
  prepare(order: PrepareOrder, socket: Socket): void
  /** Takes over a connection that nothing reads any more. */
  retire(order: RetireOrder, socket: Socket): void
  /** Takes over a connection that nothing reads any more. */
  park(order: ParkOrder, socket: Socket): void
  closed(attachment: Attachment): void
}

/**
 * One worker's connection. It streams the journal from the worker's offset for as long as it lives. The socket's own
 * back-pressure is the only buffer, so a worker that does not read costs no memory. The agent outlives the connection.
 */
export class Attachment {
  readonly #socket: Socket
  readonly #journal: Journal
  readonly #host: AttachmentHost
  readonly #helloTimer: NodeJS.Timeout
  #position: number | undefined
  #betweenRecords = true
  #pongs: number[] = []

  constructor(socket: Socket, journal: Journal, host: AttachmentHost) {
    this.#socket = socket
    this.#journal = journal
    this.#host = host
    this.#helloTimer = setTimeout(() => socket.destroy(), HELLO_DEADLINE_MS)
    const lines = new LineSplitter(MAX_MESSAGE_BYTES, (line, totalBytes) => {
      if (totalBytes > line.length) this.#reject('message too long')
      else this.#receive(line.toString())
    })
    socket.on('data', chunk => lines.push(chunk))
    socket.on('drain', () => this.pump())
    socket.on('error', () => {})
    socket.on('end', () => socket.destroy())
    socket.on('close', () => {
      clearTimeout(this.#helloTimer)
      host.closed(this)
    })
  }

  /** Offset up to which the journal was sent to this worker; everything after it must stay readable. */
  get position(): number {
    return this.#position ?? 0
  }

  /** Sends the unsent part of the journal until the socket is full. */
  pump(): void {
    if (this.#position === undefined || this.#socket.destroyed) return
    for (;;) {
      if (this.#betweenRecords) this.#sendPongs()
      if (this.#socket.writableNeedDrain) return
      const bytes = this.#journal.read(this.#position, READ_BYTES)
      if (bytes.length === 0) return
      this.#position += bytes.length
      this.#betweenRecords = bytes.at(-1) === NEWLINE_BYTE
      this.#socket.write(bytes)
    }
  }

  /** Closes the connection because another worker took over; commands that have already arrived are ignored too. */
  close(): void {
    this.#socket.destroy()
  }

  #receive(line: string): void {
    // One chunk may hold several lines; ignore those that follow the end of the attachment.
    if (this.#socket.destroyed || this.#socket.writableEnded) return
    const message = parseWorkerMessage(line)
    if (!message) this.#reject('not a message of the protocol')
    else if ('all' in message) this.#signalAll(message.all)
    else if ('terminal' in message) this.#handOver(socket => this.#host.terminal(message.terminal, socket))
    else if ('port' in message) this.#handOver(socket => takePort(message.port, socket))
    else if ('prepare' in message) this.#handOver(socket => this.#host.prepare(message.prepare, socket))
    else if ('retire' in message) this.#handOver(socket => this.#host.retire(message.retire, socket))
    else if ('park' in message) this.#handOver(socket => this.#host.park(message.park, socket))
    else if ('hello' in message === (this.#position !== undefined)) this.#reject('hello comes once, and first')
    else if ('hello' in message) this.#greet(message.hello)
    else if ('ping' in message) this.#answer(message.ping)
    else this.#host.command(message, this)
  }

  #greet(hello: Hello): void {
    clearTimeout(this.#helloTimer)
    const greeting = this.#host.greet(hello, this)
    this.#socket.write(`${JSON.stringify(greeting)}\n`)
    if ('welcome' in greeting) {
      this.#position = hello.from
      this.pump()
    } else {
      this.#socket.end()
    }
  }

  #signalAll(all: 'STOP' | 'CONT'): void {
    signalAll(`SIG${all}`)
    this.#socket.end(`${JSON.stringify({ all })}\n`)
  }

  /** What came behind the line in the same chunk is lost: the caller waits for the answer. */
  #handOver(take: (socket: Socket) => void): void {
    if (this.#position !== undefined) {
      this.#reject('such an order has a connection of its own')
      return
    }
    clearTimeout(this.#helloTimer)
    this.#socket.pause()
    for (const event of ['data', 'drain', 'end']) this.#socket.removeAllListeners(event)
    take(this.#socket)
  }

  #answer(ping: number): void {
    this.#pongs.push(ping)
    this.pump()
  }

  #sendPongs(): void {
    for (const n of this.#pongs.splice(0)) this.#socket.write(`p ${n}\n`)
  }

  #reject(why: string): void {
    console.error(`berth-supervisor: worker connection ended: ${why}`)
    this.#socket.destroy()
  }
}

// HTTP/1.1 with sockets and prepared bytes only, so that provider and load cost little on the cores that they share
// with the measured program.
import { connect, createServer, type Server, type Socket } from 'node:net'

const headEnd = '\r\n\r\n'

/** Splits a connection's bytes into messages: a head, and a body with a length or in chunks. */
class MessageReader {
  #rest: Buffer = Buffer.alloc(0)

  /** Returns the next complete message as received; null until there is one. */
  push(chunk: Buffer): { readonly head: string; readonly message: Buffer } | null {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const at = this.#rest.indexOf(headEnd)
    if (at === -1) return null
    const head = this.#rest.toString('latin1', 0, at)
    const bodyAt = at + headEnd.length
    const length = /content-length: *(\d+)/i.exec(head)?.[1]
    const whole =
      length === undefined
        ? !/transfer-encoding: *chunked/i.test(head) || this.#rest.subarray(bodyAt - 2).includes(`\r\n0${headEnd}`)
        : this.#rest.length >= bodyAt + Number(length)
    if (!whole) return null
    const message = this.#rest
    this.#rest = Buffer.alloc(0)
    return { head, message }
  }
}

/** Builds a message with a `content-length`. */
export function rawMessage(firstLine: string, headers: Readonly<Record<string, string>>, body: string): Buffer {
  const all = { ...headers, 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return Buffer.from(`${[firstLine, ...lines].join('\r\n')}${headEnd}${body}`)
}

/** Answers the requests of each connection, one after the other. */
export function serveRaw(answer: (path: string, message: Buffer, socket: Socket) => void): Server {
  return createServer(socket => {
    socket.setNoDelay(true)
    const reader = new MessageReader()
    socket.on('error', () => {})
    socket.on('data', chunk => {
      const request = reader.push(chunk)
      if (request !== null) answer(request.head.split(' ', 2)[1] ?? '', request.message, socket)
    })
  })
}

/** A kept-alive connection that sends the same request again and again. */
export class RawConnection {
  readonly #socket: Socket
  readonly #request: Buffer
  #settle: PromiseWithResolvers<number> | null = null
  #begun = 0
  /** Called with each chunk received. */
  onData: (chunk: Buffer) => void = () => {}

  constructor(url: string, request: Buffer) {
    const { hostname, port } = new URL(url)
    this.#request = request
    this.#socket = connect(Number(port), hostname).setNoDelay(true)
    const reader = new MessageReader()
    this.#socket.on('data', chunk => {
      this.onData(chunk)
      const answer = reader.push(chunk)
      if (answer === null) return
      const settle = this.#settle
      if (answer.head.startsWith('HTTP/1.1 200')) settle?.resolve(performance.now() - this.#begun)
      else settle?.reject(new Error(`answered ${answer.message.toString()}`))
    })
    this.#socket.on('error', error => this.#settle?.reject(error))
    this.#socket.on('close', () => this.#settle?.reject(new Error('closed')))
  }

  /** @returns milliseconds until the whole response has arrived */
  ask(): Promise<number> {
    this.#settle = Promise.withResolvers()
    this.#begun = performance.now()
    this.#socket.write(this.#request)
    return this.#settle.promise
  }

  close(): void {
    this.#settle = null
    this.#socket.destroy()
  }
}

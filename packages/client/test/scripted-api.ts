import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Event } from '../src/index.ts'

export const sessionId = '0191d5a0-0000-7000-8000-000000000001'
export const runId = '0191d5a0-0000-7000-8000-0000000000aa'

/** One open stream, to which a script writes like a server or a broken proxy. */
export interface StreamCall {
  /** Number of the stream, counted from 0. */
  readonly index: number
  readonly lastEventId: number
  readonly response: ServerResponse
  readonly headers: IncomingMessage['headers']
}

export interface ApiScript {
  stream?: (call: StreamCall) => unknown
  /** May answer the n-th page itself and return true. */
  page?: (response: ServerResponse, index: number) => boolean
  /** Answers everything that is neither page nor stream. */
  other?: (request: IncomingMessage, response: ServerResponse, body: string) => unknown
}

/** A loopback server that plays the API over a log that the test appends to. */
export class ScriptedApi implements AsyncDisposable {
  readonly log: Event[] = []
  readonly requests: string[] = []
  readonly #server = createServer((request, response) => this.#answer(request, response))
  readonly #script: ApiScript
  streams = 0
  pages = 0

  private constructor(script: ApiScript) {
    this.#script = script
  }

  static async start(script: ApiScript): Promise<ScriptedApi> {
    const api = new ScriptedApi(script)
    api.#server.listen(0, '127.0.0.1')
    await once(api.#server, 'listening')
    return api
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  append(count: number, make: (sequence: number) => Partial<Event> = () => ({})): void {
    for (let i = 0; i < count; i++) this.log.push(eventAt(this.log.length + 1, make(this.log.length + 1)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://loopback')
    this.requests.push(`${request.method} ${url.pathname}${url.search}`)
    response.on('error', () => {})
    if (url.pathname.endsWith('/events/stream')) this.#stream(request, response)
    else if (url.pathname.endsWith('/events')) this.#page(url, response)
    else this.#other(request, response)
  }

  #other(request: IncomingMessage, response: ServerResponse): void {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => this.#script.other?.(request, response, body))
  }

  #stream(request: IncomingMessage, response: ServerResponse): void {
    const { headers } = request
    const index = this.streams++
    const open = this.#script.stream ?? (call => openStream(call.response))
    open({ index, lastEventId: Number(headers['last-event-id']), response, headers })
  }

  #page(url: URL, response: ServerResponse): void {
    const index = this.pages++
    if (this.#script.page?.(response, index)) return
    const after = Number(url.searchParams.get('after'))
    const events = this.log.slice(after, after + Number(url.searchParams.get('limit') ?? 100))
    sendJson(response, 200, { events, lastSequence: this.log.length })
  }
}

export function eventAt(sequence: number, part: Partial<Event> = {}): Event {
  return {
    id: `0191d5a0-0000-7000-9000-${String(sequence).padStart(12, '0')}`,
    type: 'svc.run.progress',
    createdAt: '2026-01-01T00:00:00.000Z',
    sequence,
    subject: { sessionId, runId },
    data: {},
    ...part,
  }
}

export function frame(event: Event): string {
  return `id: ${event.sequence}\ndata: ${JSON.stringify(event)}\n\n`
}

/** Answers 200 with a first byte, as a server must at once. */
export function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(': open\n\n')
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

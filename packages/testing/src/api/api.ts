import { randomUUID } from 'node:crypto'
import type { Event, Run, Session, TurnAdmission } from '@berth/contract'
import { mustBeOfCatalog, mustConform } from './conformance.ts'

export interface Answer<Body = Record<string, unknown>> {
  readonly status: number
  readonly body: Body
  readonly text: string
  readonly headers: Headers
}

/** Plain calls of the API, without retries or interpretation. Every answer must conform to the contract. */
export class Api {
  readonly url: string
  readonly key: string

  constructor(url: string, key: string) {
    this.url = url
    this.key = key
  }

  async call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body>> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const json = response.headers.get('content-type')?.startsWith('application/json') === true
    const { status } = response
    const answered = json ? JSON.parse(text) : {}
    mustConform({ method, path, status, body: answered })
    return { status, body: answered as Body, text, headers: response.headers }
  }

  get<Body = Record<string, unknown>>(path: string, headers?: Record<string, string>): Promise<Answer<Body>> {
    return this.call<Body>('GET', path, undefined, headers)
  }

  put<Body = Record<string, unknown>>(path: string, body: unknown): Promise<Answer<Body>> {
    return this.call<Body>('PUT', path, body)
  }

  /** Creates a Session; a message becomes its first Turn. */
  async createSession(body: Record<string, unknown> = {}, message?: string): Promise<Session> {
    const initialTurn = message === undefined ? {} : { initialTurn: { id: randomUUID(), message } }
    const answer = await this.put<{ session: Session }>(`/v1/sessions/${randomUUID()}`, { ...body, ...initialTurn })
    if (answer.status !== 201) throw new Error(`create answered ${answer.status} ${answer.text}`)
    return answer.body.session
  }

  async submitTurn(sessionId: string, message: string, more: Record<string, unknown> = {}): Promise<TurnAdmission> {
    const answer = await this.put<TurnAdmission>(`/v1/sessions/${sessionId}/turns/${randomUUID()}`, {
      message,
      ...more,
    })
    if (answer.status !== 202) throw new Error(`the turn answered ${answer.status} ${answer.text}`)
    return answer.body
  }

  async session(id: string): Promise<Session> {
    return (await this.get<{ session: Session }>(`/v1/sessions/${id}`)).body.session
  }

  async run(sessionId: string, runId: string): Promise<Run> {
    return (await this.get<{ run: Run }>(`/v1/sessions/${sessionId}/runs/${runId}`)).body.run
  }

  /** Reads the whole log, page by page. */
  async events(sessionId: string): Promise<Event[]> {
    const all: Event[] = []
    for (;;) {
      const after = all.at(-1)?.sequence ?? 0
      const page = await this.get<{ events: Event[] }>(`/v1/sessions/${sessionId}/events?after=${after}`)
      if (page.status !== 200) throw new Error(`events answered ${page.status} ${page.text}`)
      if (page.body.events.length === 0) return all
      for (const event of page.body.events) mustBeOfCatalog(event)
      all.push(...page.body.events)
    }
  }

  /** Reads the stream until an Event satisfies `done`, and returns the whole log. */
  async eventsUntil(sessionId: string, done: (event: Event) => boolean, timeoutMs = 60_000): Promise<Event[]> {
    const deadline = AbortSignal.timeout(timeoutMs)
    let seen = 0
    while (!deadline.aborted) {
      const response = await fetch(`${this.url}/v1/sessions/${sessionId}/events/stream?after=${seen}`, {
        headers: { authorization: `Bearer ${this.key}` },
        signal: deadline,
      }).catch(() => null)
      if (response?.ok !== true || response.body === null) continue
      try {
        for await (const event of parseStream(response.body)) {
          seen = event.sequence
          if (done(event)) return this.events(sessionId)
        }
      } catch {
        // The stream broke: continue from the last Event.
      }
    }
    throw new Error(`the log of ${sessionId} did not get there within ${timeoutMs} ms`)
  }

  /** Waits for the Run's terminal event. */
  runEnded(sessionId: string, runId: string, timeoutMs?: number): Promise<Event[]> {
    return this.eventsUntil(sessionId, event => isTerminal(event) && event.subject.runId === runId, timeoutMs)
  }
}

export const isTerminal = (event: Event): boolean => /^svc\.run\.(completed|failed|cancelled|crashed)$/.test(event.type)

/** Yields the Events in the `data:` lines of a stream. */
export async function* parseStream(body: ReadableStream<Uint8Array>): AsyncGenerator<Event> {
  let rest = ''
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    rest += chunk
    for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
      const data = rest.slice(0, end).match(/^data: (.*)$/m)?.[1]
      rest = rest.slice(end + 2)
      if (data !== undefined) yield JSON.parse(data) as Event
    }
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ApiScript, frame, openStream, ScriptedApi, sendJson } from '@berth/client/testing'
import { runEvent } from './event-fixtures.ts'

export const session = {
  id: '0191d5a0-0000-7000-8000-000000000001',
  sessionUrl: 'http://127.0.0.1:4100/sessions/0191d5a0-0000-7000-8000-000000000001',
  title: 'list the files',
  phase: 'idle',
  status: 'done',
  lastRun: null,
  updatedAt: '2026-01-01T00:00:00.000Z',
  lastEventSequence: 0,
}
export const run = { id: '0191d5a0-0000-7000-8000-0000000000aa', status: 'queued', cancellationRequested: false }

interface Taken {
  readonly method: string
  readonly path: string
  readonly body: Record<string, unknown>
}

type Answer = (taken: Taken, response: ServerResponse) => unknown

/** The part of the API that the commands use: it admits everything, and the test writes the log. */
export class ScriptedService implements AsyncDisposable {
  readonly taken: Taken[] = []
  readonly #api: ScriptedApi
  private readonly streams = new Set<ServerResponse>()

  private constructor(api: ScriptedApi) {
    this.#api = api
  }

  static async start(answer?: Answer, script: ApiScript = {}): Promise<ScriptedService> {
    const parts: { service?: ScriptedService } = {}
    const api = await ScriptedApi.start({
      stream: ({ response }) => {
        openStream(response)
        parts.service?.streams.add(response)
      },
      other: (request, response, body) => parts.service?.take(request, response, body, answer),
      ...script,
    })
    parts.service = new ScriptedService(api)
    return parts.service
  }

  get url(): string {
    return this.#api.url
  }

  get env(): { BERTH_URL: string; BERTH_API_KEY: string } {
    return { BERTH_URL: this.url, BERTH_API_KEY: 'key' }
  }

  /** Appends to the log and sends the Event to every open stream. */
  append(type: string, data: Record<string, unknown> = {}): void {
    this.#api.append(1, sequence => runEvent(sequence, type, data))
    const last = this.#api.log.at(-1)
    if (last !== undefined) for (const stream of this.streams) stream.write(frame(last))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#api[Symbol.asyncDispose]()
  }

  private take(request: IncomingMessage, response: ServerResponse, body: string, answer: Answer | undefined): void {
    const taken = { method: request.method ?? '', path: request.url ?? '', body: body === '' ? {} : JSON.parse(body) }
    this.taken.push(taken)
    if (answer !== undefined && answer(taken, response) !== undefined) return
    const { method, path } = taken
    if (path.endsWith('/cancel')) sendJson(response, 200, { run: { ...run, cancellationRequested: true } })
    else if (path.includes('/turns/')) sendJson(response, 202, { created: true, turn: { runId: run.id }, run })
    else if (method === 'PUT') sendJson(response, 201, { session: { ...session, activeRunId: run.id } })
    else sendJson(response, 200, { session: { ...session, lastEventSequence: this.#api.log.length } })
  }
}

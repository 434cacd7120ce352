import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import type { DecisionChoice, Event, Interaction, Session, SessionEgress } from '@berth/contract'
import type { Network } from '@berth/platform/network/dial.ts'
import { MasterKey, parseMasterKey } from '@berth/platform/storage/master-key.ts'
import { Worker } from '@berth/worker/worker.ts'
import type { Answer, Api } from '../api/api.ts'
import { startTestService, type TestService } from '../services/service.ts'
import { workerContext } from '../services/worker-context.ts'
import { until } from '../until.ts'
import { touch } from '../workspaces/workspace.ts'
import { Environments } from './environments.ts'

const PUBLIC = '93.184.216.34'

/**
 * A web of public names that all lead to one server of this process, and the API with workers whose sandboxes reach nothing
 * else.
 */
export class AskingHosts implements AsyncDisposable {
  readonly test: TestService
  readonly environments: Environments
  /** The address of each name; others have a public one. */
  readonly addresses = new Map<string, string>()
  /** What answers for a host in place of a word. */
  readonly listeners: Map<string, RequestListener>
  /** Names of the hosts that the server was asked for, in order. */
  readonly served: string[]
  /** When each was first asked for, by `performance.now()`. */
  readonly servedAt: ReadonlyMap<string, number>
  readonly #port: number
  readonly #stack: AsyncDisposableStack

  /** @param given a service without a worker; absent: one of its own */
  static async open(given?: TestService): Promise<AskingHosts> {
    await using stack = new AsyncDisposableStack()
    const test = given ?? stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
    const file = join(test.dataDir, 'master.key')
    const key = existsSync(file) ? parseMasterKey(readFileSync(file, 'utf8').trim()) : undefined
    // Workers of the test open what the service has sealed.
    if (key !== undefined) Object.assign(test.db.database, { masterKey: new MasterKey(key) })
    const served: string[] = []
    const servedAt = new Map<string, number>()
    const listeners = new Map<string, RequestListener>()
    const server = createServer((request, response) => {
      const host = String(request.headers.host)
      served.push(host)
      servedAt.set(host, servedAt.get(host) ?? performance.now())
      const listener = listeners.get(host)
      if (listener !== undefined) listener(request, response)
      else response.end(`reached ${host}`)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    stack.defer(() => void server.close().closeAllConnections())
    return new AskingHosts(test, (server.address() as AddressInfo).port, { served, servedAt, listeners }, stack.move())
  }

  private constructor(
    test: TestService,
    port: number,
    { served, servedAt, listeners }: Pick<AskingHosts, 'served' | 'servedAt' | 'listeners'>,
    stack: AsyncDisposableStack,
  ) {
    this.test = test
    this.environments = new Environments(test.api)
    this.#port = port
    this.served = served
    this.servedAt = servedAt
    this.listeners = listeners
    this.#stack = stack
  }

  get api(): Api {
    return this.test.api
  }

  /** No name is asked for, and nobody but the server is dialled. */
  get network(): Network {
    return {
      lookUp: async () => [],
      resolve: async name => [this.addresses.get(name) ?? PUBLIC],
      dial: async () => {
        const socket = connect({ port: this.#port, host: '127.0.0.1', allowHalfOpen: true })
        await once(socket, 'connect')
        return socket
      },
    }
  }

  /** Starts a worker, which stops with the stack. */
  async startWorker(
    stack: AsyncDisposableStack,
    more: Parameters<typeof workerContext>[2] = {},
  ): Promise<{ readonly worker: Worker; readonly context: Awaited<ReturnType<typeof workerContext>> }> {
    const publicHosts = { ports: [80, 443], refused: [] }
    const context = await workerContext(this.test, stack, { network: this.network, publicHosts, ...more })
    const worker = stack.use(new Worker(context))
    await worker.start()
    return { worker, context }
  }

  /** Makes a Session of a new environment with this network, and runs a script in it. */
  async session(network: object, script: string, document: object = {}): Promise<Session> {
    const { id } = await this.environments.make({ network, ...document })
    return this.sessionOf(id, script)
  }

  sessionOf(environmentId: string, script: string, api: Api = this.api): Promise<Session> {
    return api.createSession({ runtime: 'shell', environment: { id: environmentId } }, script)
  }

  /** Returns the open Interactions of a Session once there are that many. */
  open(session: Session, count = 1): Promise<Interaction[]> {
    return until(`${count} open interactions`, async () => {
      const { body } = await this.api.get<{ interactions: Interaction[] }>(`/v1/sessions/${session.id}/interactions`)
      return body.interactions.length === count && body.interactions
    })
  }

  async onlyOpen(session: Session): Promise<Interaction> {
    const [only] = await this.open(session)
    if (only === undefined) throw new Error('nothing is open')
    return only
  }

  decide(session: Session, { id, request }: Interaction, choice: DecisionChoice, api: Api = this.api): Promise<Answer> {
    const body = { requestId: request.approval?.requestId ?? '', choice, idempotencyKey: randomUUID() }
    return api.put(`/v1/sessions/${session.id}/interactions/${id}/decision`, body)
  }

  /** Waits for the end of a Run, and returns its script's output and the log. */
  async ended(session: Session, runId = session.activeRunId ?? ''): Promise<{ output: string; events: Event[] }> {
    const events = await this.api.runEnded(session.id, runId)
    const last = events.findLast(event => event.type === 'svc.activity.completed' && event.subject.runId === runId)
    return { output: String((last?.data as { output?: string } | undefined)?.output), events }
  }

  /** Makes the file in the workspace that a script waits for. */
  touch(session: Session, name: string): Promise<void> {
    return touch(this.test.db.database, this.test.dataDir, session, name)
  }

  async egress(session: Session): Promise<SessionEgress> {
    return (await this.api.get<SessionEgress>(`/v1/sessions/${session.id}/egress`)).body
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }
}

/** A line of a script that fetches from a host: the answer's body, or the proxy's refusal. */
export const fetchFrom = (host: string, more = ''): string => `curl -sS -m 100 ${more} http://${host}/; echo`

/** The data of a log's refusals. */
export const refusalsIn = (events: readonly Event[]): readonly Record<string, unknown>[] =>
  events.filter(({ type }) => type === 'svc.egress.refused').map(({ data }) => data)

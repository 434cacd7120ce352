import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { ClusterApi } from '@berth/kubernetes/api/cluster-api.ts'
import { makeCertificate } from '../services/certificates.ts'

type Json = Record<string, unknown>

/** A pod as the server stores it. */
export interface StoredPod {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly labels: Record<string, string>
    creationTimestamp: string
    deletionTimestamp?: string
    resourceVersion: string
  }
  spec: Json
  status: Json
}

/** What the server does with a request in place of answering it. */
export type Trouble =
  | { readonly status: number; readonly reason?: string; readonly retryAfter?: number }
  /** Takes the request and says nothing. */
  | 'silence'

/** The parts of the path of a request for pods. */
interface Place {
  readonly namespace: string
  readonly name: string | undefined
}

interface Watcher {
  readonly selects: (pod: StoredPod) => boolean
  readonly response: ServerResponse
}

/** The parts of a Kubernetes API server that Berth asks, on loopback with TLS, in a state that a test can set. */
export class ApiServer implements AsyncDisposable {
  readonly pods = new Map<string, StoredPod>()
  /** Every request, as `GET /path`. */
  readonly seen: string[] = []
  /** Answers to reviews of tokens, by token; others are not authenticated. */
  readonly reviews = new Map<string, Json>()
  /** Puts a new pod into its first status; a test may set another one. */
  statusOfNew: () => Json = () => ({ phase: 'Pending' })
  readonly #server: Server
  readonly #ca: string
  readonly #watchers = new Set<Watcher>()
  readonly #troubles: { readonly on: RegExp; readonly trouble: Trouble; left: number }[] = []
  /** What happened, for watches that go on from a version. */
  readonly #history: {
    readonly version: number
    readonly pod: StoredPod
    readonly line: string
  }[] = []
  /** Versions up to this one are forgotten. */
  #oldest = 0
  #version = 1

  private constructor(server: Server, ca: string) {
    this.#server = server
    this.#ca = ca
    server.on('request', (request, response) => {
      this.#answer(request, response).catch(() => response.destroy())
    })
  }

  static async start(): Promise<ApiServer> {
    const { ca, cert, key } = makeCertificate('localhost')
    const server = createServer({ cert, key })
    server.listen(0, 'localhost')
    await once(server, 'listening')
    return new ApiServer(server, ca)
  }

  get url(): string {
    return `https://localhost:${(this.#server.address() as AddressInfo).port}`
  }

  /** The authority that signed its certificate, in PEM. */
  get ca(): string {
    return this.#ca
  }

  /** Makes a client that trusts this server. */
  client(options: { readonly timeoutMs?: number; readonly ca?: string } = {}): ClusterApi {
    return new ClusterApi({ url: this.url, ca: this.#ca, token: () => 'worker-token', ...options })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** Troubles the next requests whose method and path match. */
  trouble(on: RegExp, trouble: Trouble, times = 1): void {
    this.#troubles.push({ on, trouble, left: times })
  }

  count(on: RegExp): number {
    return this.seen.filter(one => on.test(one)).length
  }

  named(name: string): StoredPod {
    const pod = this.pods.get(name)
    if (pod === undefined) throw new Error(`no pod ${name}`)
    return pod
  }

  /** Stores a pod as if its owner or kubelet had. */
  put(pod: Json, status: Json = this.statusOfNew()): StoredPod {
    const { name, namespace, labels } = pod['metadata'] as StoredPod['metadata']
    const stored: StoredPod = {
      metadata: {
        ...{ name, namespace, uid: randomUUID(), labels: { ...labels } },
        ...{ creationTimestamp: new Date().toISOString(), resourceVersion: String(++this.#version) },
      },
      spec: (pod['spec'] ?? {}) as Json,
      status,
    }
    this.pods.set(name, stored)
    this.#notify('ADDED', stored)
    return stored
  }

  setStatus(name: string, status: Json): void {
    const pod = this.named(name)
    pod.status = status
    pod.metadata.resourceVersion = String(++this.#version)
    this.#notify('MODIFIED', pod)
  }

  remove(name: string): void {
    const pod = this.named(name)
    pod.metadata.resourceVersion = String(++this.#version)
    this.pods.delete(name)
    this.#notify('DELETED', pod)
  }

  /** Forgets what happened so far, so that watches cannot go on from there, and ends those under way. */
  compact(): void {
    this.#oldest = ++this.#version
    for (const { response } of this.#watchers) response.end()
  }

  /** Cuts every connection. */
  cut(): void {
    this.#server.closeAllConnections()
  }

  /** Watches of pods that are open. */
  get watching(): number {
    return this.#watchers.size
  }

  #notify(type: string, pod: StoredPod): void {
    const line = `${JSON.stringify({ type, object: { kind: 'Pod', ...pod } })}\n`
    this.#history.push({ version: this.#version, pod, line })
    for (const { selects, response } of this.#watchers) {
      if (selects(pod) && !response.writableEnded) response.write(line)
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://localhost')
    const line = `${request.method} ${pathname}${searchParams.has('watch') ? '?watch' : ''}`
    this.seen.push(line)
    const body = await text(request)
    const troubled = this.#troubles.find(({ on, left }) => left > 0 && on.test(line))
    if (troubled !== undefined) {
      troubled.left -= 1
      if (troubled.trouble === 'silence') return
      const { status, reason, retryAfter } = troubled.trouble
      return refuse(response, status, reason ?? 'Trouble', retryAfter)
    }
    if (request.headers.authorization !== 'Bearer worker-token') return refuse(response, 401, 'Unauthorized')
    if (pathname === '/apis/authentication.k8s.io/v1/tokenreviews') return this.#review(JSON.parse(body), response)
    const place = placeOf(pathname)
    if (place === null) return refuse(response, 404, 'NotFound')
    const { namespace, name } = place
    if (name !== undefined) return this.#one(request.method ?? '', name, body, response)
    if (request.method === 'POST') return this.#create(namespace, JSON.parse(body), response)
    const selects = selectorOf(namespace, searchParams.get('labelSelector') ?? '')
    const version = Number(searchParams.get('resourceVersion'))
    if (searchParams.has('watch')) return this.#watch(selects, version, response)
    this.#list(selects, searchParams, response)
  }

  #review({ spec }: { spec: { token: string; audiences: string[] } }, response: ServerResponse): void {
    reply(response, 201, {
      kind: 'TokenReview',
      spec,
      status: this.reviews.get(spec.token) ?? { authenticated: false },
    })
  }

  #create(namespace: string, pod: Json, response: ServerResponse): void {
    const { generateName, name, ...metadata } = pod['metadata'] as Record<string, string>
    const named = { ...metadata, namespace, name: name ?? `${generateName}${randomUUID().slice(0, 5)}` }
    reply(response, 201, { kind: 'Pod', ...this.put({ ...pod, metadata: named }) })
  }

  #one(method: string, name: string, body: string, response: ServerResponse): void {
    const pod = this.pods.get(name)
    if (pod === undefined) return void refuse(response, 404, 'NotFound')
    if (method === 'DELETE') {
      const { preconditions } = JSON.parse(body) as { preconditions: { uid: string } }
      if (preconditions.uid !== pod.metadata.uid) return void refuse(response, 409, 'Conflict')
      this.remove(name)
    }
    reply(response, 200, { kind: 'Pod', ...pod })
  }

  #list(selects: Watcher['selects'], query: URLSearchParams, response: ServerResponse): void {
    const all = [...this.pods.values()].filter(selects)
    const from = Number(query.get('continue') ?? 0)
    const to = from + Number(query.get('limit') ?? all.length)
    const metadata = { resourceVersion: String(this.#version), ...(to < all.length && { continue: String(to) }) }
    reply(response, 200, { kind: 'PodList', metadata, items: all.slice(from, to) })
  }

  #watch(selects: Watcher['selects'], version: number, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' })
    if (version < this.#oldest) {
      const object = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }
      return void response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`)
    }
    response.flushHeaders()
    for (const past of this.#history) {
      if (past.version > version && selects(past.pod)) response.write(past.line)
    }
    const watcher = { selects, response }
    this.#watchers.add(watcher)
    response.once('close', () => this.#watchers.delete(watcher))
  }
}

function placeOf(pathname: string): Place | null {
  const [, namespace, name] = /^\/api\/v1\/namespaces\/([^/]+)\/pods(?:\/([^/]+)(?:\/status)?)?$/.exec(pathname) ?? []
  return namespace === undefined ? null : { namespace, name }
}

function selectorOf(namespace: string, selector: string): Watcher['selects'] {
  const wanted = selector.split(',').map(one => one.split('='))
  return ({ metadata }) =>
    metadata.namespace === namespace && wanted.every(([name = '', value]) => metadata.labels[name] === value)
}

function reply(response: ServerResponse, status: number, body: Json): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function refuse(response: ServerResponse, status: number, reason: string, retryAfter?: number): void {
  if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter))
  reply(response, status, { kind: 'Status', status: 'Failure', code: status, reason, message: `told to: ${reason}` })
}

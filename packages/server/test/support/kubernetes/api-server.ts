import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { ClusterApi } from '../../../src/kubernetes/api/cluster-api.ts'
import { makeCertificate } from '../services/certificates.ts'

type Json = Record<string, unknown>

/** A pod or a Sandbox as the server stores it. */
export interface StoredObject {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly labels: Record<string, string>
    creationTimestamp: string
    readonly ownerReferences?: readonly { readonly uid: string }[]
    deletionTimestamp?: string
    resourceVersion: string
  }
  spec: Json
  status: Json
}

export type StoredPod = StoredObject

/** What the server does with a request in place of answering it. */
export type Trouble =
  | { readonly status: number; readonly reason?: string; readonly retryAfter?: number }
  /** Takes the request and says nothing. */
  | 'silence'

type Plural = 'pods' | 'sandboxes'

/** The parts of the path of a request for objects. */
interface Place {
  readonly plural: Plural
  readonly namespace: string
  readonly name: string | undefined
}

const kinds = { pods: 'Pod', sandboxes: 'Sandbox' } as const
const SANDBOX_GROUP = 'agents.x-k8s.io'

interface Watcher {
  readonly plural: Plural
  readonly selects: (object: StoredObject) => boolean
  readonly response: ServerResponse
}

/** The parts of a Kubernetes API server that Berth asks, on loopback with TLS, in a state that a test can set. */
export class ApiServer implements AsyncDisposable {
  readonly pods = new Map<string, StoredPod>()
  readonly sandboxes = new Map<string, StoredObject>()
  /** Versions of agent-sandbox's group that it serves; none: it has no such group. */
  sandboxVersions: readonly string[] = []
  /** Verbs for Sandboxes that the service account does not have. */
  forbidden: readonly string[] = []
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
    readonly plural: Plural
    readonly object: StoredObject
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
    return this.#store('pods', pod, status)
  }

  #store(plural: Plural, object: Json, status: Json): StoredObject {
    const { name, namespace, labels, ownerReferences } = object['metadata'] as StoredObject['metadata']
    const stored: StoredObject = {
      metadata: {
        ...{ name, namespace, uid: randomUUID(), labels: { ...labels } },
        ...{ creationTimestamp: new Date().toISOString(), resourceVersion: String(++this.#version) },
        ...(ownerReferences !== undefined && { ownerReferences }),
      },
      spec: (object['spec'] ?? {}) as Json,
      status,
    }
    this[plural].set(name, stored)
    this.#tell('ADDED', plural, stored)
    const lives = ({ uid }: { uid: string }) => [...this.sandboxes.values()].some(one => one.metadata.uid === uid)
    // The garbage collector takes objects that have lost their owner.
    if (ownerReferences?.some(lives) === false) queueMicrotask(() => this.#remove(plural, stored))
    return stored
  }

  setStatus(name: string, status: Json): void {
    const pod = this.named(name)
    pod.status = status
    pod.metadata.resourceVersion = String(++this.#version)
    this.#tell('MODIFIED', 'pods', pod)
  }

  /** Sets parts of a Sandbox as its controller or an operator does. */
  setSandbox(
    name: string,
    parts: { readonly spec?: Json; readonly status?: Json; readonly createdAt?: Date },
  ): StoredObject {
    const sandbox = this.sandboxes.get(name)
    if (sandbox === undefined) throw new Error(`no Sandbox ${name}`)
    Object.assign(sandbox.spec, parts.spec)
    Object.assign(sandbox.status, parts.status)
    if (parts.createdAt !== undefined) sandbox.metadata.creationTimestamp = parts.createdAt.toISOString()
    sandbox.metadata.resourceVersion = String(++this.#version)
    this.#tell('MODIFIED', 'sandboxes', sandbox)
    return sandbox
  }

  remove(name: string): void {
    this.#remove('pods', this.named(name))
  }

  /** Removes an object, and the objects that it owns, as the garbage collector does. */
  #remove(plural: Plural, object: StoredObject): void {
    const { name, uid } = object.metadata
    for (const pod of [...this.pods.values()]) {
      if (pod.metadata.ownerReferences?.some(owner => owner.uid === uid) === true) this.#remove('pods', pod)
    }
    object.metadata.resourceVersion = String(++this.#version)
    this[plural].delete(name)
    this.#tell('DELETED', plural, object)
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
    return [...this.#watchers].filter(({ plural }) => plural === 'pods').length
  }

  #tell(type: string, plural: Plural, object: StoredObject): void {
    const line = `${JSON.stringify({ type, object: { kind: kinds[plural], ...object } })}\n`
    this.#history.push({ version: this.#version, plural, object, line })
    for (const watcher of this.#watchers) {
      if (watcher.plural === plural && watcher.selects(object) && !watcher.response.writableEnded)
        watcher.response.write(line)
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
    if (pathname === '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews') {
      const { spec } = JSON.parse(body) as { spec: { resourceAttributes: { verb: string } } }
      const allowed = !this.forbidden.includes(spec.resourceAttributes.verb)
      return reply(response, 201, { kind: 'SelfSubjectAccessReview', spec, status: { allowed } })
    }
    const discovered = this.#discover(pathname)
    if (discovered !== null) return reply(response, 200, discovered)
    const place = this.#place(pathname)
    if (place === null) return refuse(response, 404, 'NotFound')
    const { plural, namespace, name } = place
    if (plural === 'sandboxes' && this.forbidden.includes(verbOf(request.method, searchParams))) {
      return refuse(response, 403, 'Forbidden')
    }
    if (name !== undefined) return this.#one(request.method ?? '', plural, name, body, response)
    if (request.method === 'POST') return this.#create(plural, namespace, JSON.parse(body), response)
    const selects = selectorOf(namespace, searchParams.get('labelSelector') ?? '')
    const version = Number(searchParams.get('resourceVersion'))
    if (searchParams.has('watch')) return this.#watch(plural, selects, version, response)
    this.#list(plural, selects, searchParams, response)
  }

  #discover(pathname: string): Json | null {
    const versions = this.sandboxVersions.map(version => ({ groupVersion: `${SANDBOX_GROUP}/${version}`, version }))
    if (versions.length === 0) return null
    if (pathname === `/apis/${SANDBOX_GROUP}`) return { kind: 'APIGroup', name: SANDBOX_GROUP, versions }
    if (!versions.some(({ groupVersion }) => pathname === `/apis/${groupVersion}`)) return null
    return { kind: 'APIResourceList', resources: [{ name: 'sandboxes', kind: 'Sandbox', namespaced: true }] }
  }

  #place(pathname: string): Place | null {
    const [, group, namespace = '', plural, name] =
      /^\/(?:api\/v1|apis\/(.+))\/namespaces\/([^/]+)\/(pods|sandboxes)(?:\/([^/]+)(?:\/status)?)?$/.exec(pathname) ??
      []
    if (group === undefined && plural === 'pods') return { plural, namespace, name }
    const isServed = this.sandboxVersions.some(version => group === `${SANDBOX_GROUP}/${version}`)
    return isServed && plural === 'sandboxes' ? { plural, namespace, name } : null
  }

  #review({ spec }: { spec: { token: string; audiences: string[] } }, response: ServerResponse): void {
    reply(response, 201, {
      kind: 'TokenReview',
      spec,
      status: this.reviews.get(spec.token) ?? { authenticated: false },
    })
  }

  #create(plural: Plural, namespace: string, object: Json, response: ServerResponse): void {
    const { generateName, name, ...metadata } = object['metadata'] as Record<string, string>
    const named = { ...metadata, namespace, name: name ?? `${generateName}${randomUUID().slice(0, 5)}` }
    const stored = this.#store(plural, { ...object, metadata: named }, plural === 'pods' ? this.statusOfNew() : {})
    reply(response, 201, { kind: kinds[plural], ...stored })
  }

  #one(method: string, plural: Plural, name: string, body: string, response: ServerResponse): void {
    const object = this[plural].get(name)
    if (object === undefined) return void refuse(response, 404, 'NotFound')
    if (method === 'DELETE') {
      const { preconditions } = JSON.parse(body) as { preconditions: { uid: string } }
      if (preconditions.uid !== object.metadata.uid) return void refuse(response, 409, 'Conflict')
      this.#remove(plural, object)
    }
    if (method === 'PATCH') {
      const { metadata, ...parts } = JSON.parse(body) as { metadata: { uid: string }; spec?: Json; status?: Json }
      if (metadata.uid !== object.metadata.uid) return void refuse(response, 409, 'Conflict')
      this.setSandbox(name, parts)
    }
    reply(response, 200, { kind: kinds[plural], ...object })
  }

  #list(plural: Plural, selects: Watcher['selects'], query: URLSearchParams, response: ServerResponse): void {
    const all = [...this[plural].values()].filter(selects)
    const from = Number(query.get('continue') ?? 0)
    const to = from + Number(query.get('limit') ?? all.length)
    const metadata = { resourceVersion: String(this.#version), ...(to < all.length && { continue: String(to) }) }
    reply(response, 200, { kind: `${kinds[plural]}List`, metadata, items: all.slice(from, to) })
  }

  #watch(plural: Plural, selects: Watcher['selects'], version: number, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' })
    if (version < this.#oldest) {
      const object = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }
      return void response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`)
    }
    response.flushHeaders()
    for (const past of this.#history) {
      if (past.version > version && past.plural === plural && selects(past.object)) response.write(past.line)
    }
    const watcher = { plural, selects, response }
    this.#watchers.add(watcher)
    response.once('close', () => this.#watchers.delete(watcher))
  }
}

const verbOf = (method: string | undefined, query: URLSearchParams): string =>
  method === 'GET'
    ? query.has('watch')
      ? 'watch'
      : 'list'
    : method === 'POST'
      ? 'create'
      : String(method).toLowerCase()

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

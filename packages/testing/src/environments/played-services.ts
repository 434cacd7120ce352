import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { EdgeStage } from '@berth/sandboxes/testing/edge-clients.ts'
import { gitHttpHost, makeGitRepository } from '../git/git-http-host.ts'
import type { Environments } from './environments.ts'

/** A request as a service received it. */
export interface SeenRequest {
  readonly host: string
  readonly method: string
  readonly url: string
  readonly headers: readonly string[]
  /** Names of the secrets whose value it held in the right place. */
  readonly holds: readonly string[]
}

/** A secret of the environment and where it goes, and what the service has to see for it. */
interface PlayedSecret {
  readonly value: string
  readonly egress: { readonly hosts: readonly string[] } & Readonly<Record<string, unknown>>
  /** Returns whether a request holds the value in its place. */
  isIn(incoming: IncomingMessage): boolean
}

const header = (name: string, expected: string) => (incoming: IncomingMessage) => incoming.headers[name] === expected
const basicOf = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

/**
 * Five services that a program reaches with five secrets, played over TLS on loopback by an authority of their own: an API
 * with a bearer token, which also sends news over a WebSocket, one with a header of its own, a git host, one with a parameter of the query, and a registry of npm.
 */
export class PlayedServices implements AsyncDisposable {
  /** All values begin so, and one search finds each of them. */
  readonly mark = `Mark${randomBytes(9).toString('hex')}`
  readonly secrets: Readonly<
    Record<'API_TOKEN' | 'TICKETS_KEY' | 'GIT_PASSWORD' | 'MAPS_KEY' | 'NPM_TOKEN', PlayedSecret>
  >
  /** Every request that reached a service, in order. */
  readonly seen: SeenRequest[] = []
  readonly stage: EdgeStage
  readonly #stack: AsyncDisposableStack

  static async open(): Promise<PlayedServices> {
    await using stack = new AsyncDisposableStack()
    const root = await mkdtemp(join(tmpdir(), 'berth-played-'))
    stack.defer(() => rm(root, { recursive: true, force: true }))
    makeGitRepository(root)
    const tarball = await packThing(root)
    const services = new PlayedServices(stack.use(await EdgeStage.open()), stack.move())
    await services.#serve(root, tarball)
    return services
  }

  private constructor(stage: EdgeStage, stack: AsyncDisposableStack) {
    this.stage = stage
    this.#stack = stack
    const value = (name: string) => `${this.mark}${name}${randomBytes(9).toString('hex')}`
    const [api, tickets, git, maps, npm] = [value('a'), value('t'), value('g'), value('m'), value('n')]
    this.secrets = {
      API_TOKEN: {
        value: api,
        egress: {
          ...{ hosts: ['api.example.com'], methods: ['GET', 'POST'], paths: ['/v1'] },
          put: { header: 'Authorization' },
        },
        isIn: header('authorization', `Bearer ${api}`),
      },
      TICKETS_KEY: {
        value: tickets,
        egress: { hosts: ['*.tickets.example.com'], put: { header: 'X-Api-Key', format: 'key={value}' } },
        isIn: header('x-api-key', `key=${tickets}`),
      },
      GIT_PASSWORD: {
        value: git,
        egress: { hosts: ['git.example.com'], put: { basic: { user: 'x-access-token' } } },
        isIn: header('authorization', basicOf('x-access-token', git)),
      },
      MAPS_KEY: {
        value: maps,
        egress: { hosts: ['maps.example.com'], methods: ['GET'], put: { query: 'key' } },
        isIn: ({ url = '' }) => new URLSearchParams(url.split('?')[1]).get('key') === maps,
      },
      NPM_TOKEN: {
        value: npm,
        egress: { hosts: ['npm.example.com'], methods: ['GET'], put: { header: 'Authorization' } },
        isIn: header('authorization', `Bearer ${npm}`),
      },
    }
  }

  /** Forms in which a value could lie somewhere. */
  get forms(): readonly string[] {
    const { GIT_PASSWORD } = this.secrets
    return [this.mark, basicOf('x-access-token', GIT_PASSWORD.value).slice('Basic '.length)]
  }

  /** Makes an environment that has the five secrets. */
  async environment(environments: Environments): Promise<string> {
    let { id, revision } = await environments.make()
    for (const [name, { value, egress }] of Object.entries(this.secrets)) {
      const written = await environments.putSecret(id, name, { value, exposure: 'egress', egress }, revision)
      if (written.status !== 200) throw new Error(`${name} answered ${written.status} ${written.text}`)
      revision = written.body.environment.revision
    }
    return id
  }

  /** Returns how many requests held each secret in its place, by `host name`. */
  uses(): Readonly<Record<string, number>> {
    const all = this.seen.flatMap(({ host, holds }) => holds.map(name => `${host} ${name}`))
    return Object.fromEntries([...Map.groupBy(all, key => key)].map(([key, { length }]) => [key, length]))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }

  async #serve(root: string, tarball: Buffer): Promise<void> {
    const { API_TOKEN, TICKETS_KEY, GIT_PASSWORD, MAPS_KEY } = this.secrets
    const live = sendingTo(API_TOKEN, 'the news\n')
    await this.#host('api.example.com', answering(API_TOKEN, 'the account'), live)
    await this.#host('eu.tickets.example.com', answering(TICKETS_KEY, 'the ticket'))
    await this.#host('git.example.com', gitHttpHost(root, basicOf('x-access-token', GIT_PASSWORD.value)))
    await this.#host('maps.example.com', answering(MAPS_KEY, 'the map'))
    await this.#host('npm.example.com', npmRegistry('https://npm.example.com', this.secrets.NPM_TOKEN.isIn, tarball))
  }

  #host(host: string, listener: RequestListener, sending?: SocketListener): Promise<number> {
    const see = (incoming: IncomingMessage) => {
      const { method = '', url = '', rawHeaders: headers } = incoming
      const holds = Object.entries(this.secrets).flatMap(([name, { isIn }]) => (isIn(incoming) ? [name] : []))
      this.seen.push({ host, method, url, headers, holds })
    }
    const upgrade: SocketListener = (incoming, socket) => {
      see(incoming)
      sending?.(incoming, socket)
    }
    const answer: RequestListener = (incoming, response) => {
      see(incoming)
      listener(incoming, response)
    }
    return this.stage.host(host, answer, { ...(sending && { upgrade }) })
  }
}

/** Answers with a text whoever sends the secret. */
const answering =
  ({ isIn }: PlayedSecret, text: string): RequestListener =>
  (incoming, response) =>
    void incoming
      .resume()
      .on('end', () => (isIn(incoming) ? response.end(`${text}\n`) : response.writeHead(401).end('who are you?\n')))

type SocketListener = (incoming: IncomingMessage, socket: Duplex) => void

/** Opens a WebSocket to whoever sends the secret, says a text in it and closes it. */
const sendingTo =
  ({ isIn }: PlayedSecret, text: string): SocketListener =>
  (incoming, socket) => {
    if (!isIn(incoming)) return void socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n')
    const key = `${incoming.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    const head = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket']
    socket.write([...head, `Sec-WebSocket-Accept: ${accept}`, '', ''].join('\r\n'))
    // A whole text, and a close, unmasked as a server's are (RFC 6455, 5.2).
    socket.write(Buffer.concat([Buffer.from([0x81, Buffer.byteLength(text)]), Buffer.from(text)]))
    socket.end(Buffer.from([0x88, 0]))
  }

/** Serves one version of one package, `thing`, to whoever may have it. */
export function npmRegistry(origin: string, isIn: PlayedSecret['isIn'], tarball: Buffer): RequestListener {
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  const dist = { tarball: `${origin}/thing/-/thing-1.2.3.tgz`, integrity }
  const versions = { '1.2.3': { name: 'thing', version: '1.2.3', dist } }
  return (incoming: IncomingMessage, response: ServerResponse) => {
    if (!isIn(incoming)) return void response.writeHead(401).end('{}')
    if (incoming.url?.endsWith('.tgz')) return void response.end(tarball)
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ name: 'thing', 'dist-tags': { latest: '1.2.3' }, versions }))
  }
}

/** Packs the package `thing`, whose module is a text. */
export async function packThing(root: string): Promise<Buffer> {
  const at = join(root, 'package')
  await mkdir(at)
  await writeFile(join(at, 'package.json'), JSON.stringify({ name: 'thing', version: '1.2.3', main: 'main.js' }))
  await writeFile(join(at, 'main.js'), `module.exports = 'a thing'\n`)
  return execFileSync('tar', ['-czf', '-', '-C', root, 'package'])
}

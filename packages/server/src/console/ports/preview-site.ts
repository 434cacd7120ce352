import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { OtherHosts } from '@berth/core/http/routing/other-hosts.ts'
import { addressBucket } from '@berth/core/identity/guard/address-bucket.ts'
import { GuessMeter } from '@berth/core/identity/guard/guess-meter.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import { closingResponse, forwardRequest, forwardUpgrade } from './forward.ts'
import { Places } from './places.ts'
import { PortDialler } from './port-dialler.ts'
import { previewCookie, readCookie } from './preview-cookie.ts'
import { type PreviewHost, previewHost, readPreviewHost } from './preview-host.ts'
import type { PreviewPlace } from './preview-place.ts'
import { findPreview, type ShownArtifact, type ShownPreview, takePreviewTicket } from './preview-sql.ts'
import { type Refusal, refusals, sendRefusal } from './refusals.ts'

const OPEN_PATH = '/.berth/open'
const CONTENT_PATH = '/.berth/content'
/** Most connections of one preview at a time, with those that are being made. */
const MAX_CONNECTIONS = 64
/** Secrets are 32 bytes: anything else is looked up nowhere. */
const SECRET = /^[\w-]{43}$/

/** Serves the artifacts that previews show. */
export interface PreviewedArtifacts {
  /** Answers with the page of an artifact, whose frame loads the content. */
  frame(artifact: ShownArtifact, origin: string, contentPath: string, response: ServerResponse): Promise<void>
  /** Answers with the content. */
  content(
    artifact: ShownArtifact,
    at: { readonly origin: string; readonly label: string },
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void>
}

type PortHost = PreviewHost & { readonly port: number }

/** A preview of a port that a browser opened, and the stream that it has. */
interface Held {
  readonly host: PortHost
  readonly secret: Buffer
}

interface Dialled extends Held {
  readonly stream: Duplex
  /** Gives the connection's place back. */
  readonly release: () => void
}

/**
 * Serves the hosts of previews. Each begins by a ticket, which opens it once. At the host of a port it becomes the cookie of
 * that host, and everything else is passed on to the port in the sandbox; at the host of an artifact, the address of the
 * content. An agent wrote the content, so the host is another site than the console's, and it gets none of the
 * console's cookies.
 */
export class PreviewSite implements OtherHosts {
  readonly #place: PreviewPlace
  readonly #artifacts: PreviewedArtifacts
  readonly #dialler: PortDialler
  readonly #guesses: GuessMeter
  readonly #open = new Map<Duplex, Held>()
  /** Of each label. */
  readonly #places = new Places(MAX_CONNECTIONS)
  readonly #checks: NodeJS.Timeout
  #isClosed = false

  constructor(place: PreviewPlace, artifacts: PreviewedArtifacts, guesses = new GuessMeter()) {
    this.#place = place
    this.#artifacts = artifacts
    this.#dialler = new PortDialler()
    this.#guesses = guesses
    this.#checks = setInterval(() => void this.#endUnauthorized(), place.authorityMs).unref()
  }

  takes(request: IncomingMessage): boolean {
    const domain = this.#place.domain()
    return domain !== null && readPreviewHost(domain, request.headers.host) !== null
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => response.destroy())
    this.#answer(request, response).catch((error: unknown) => {
      if (!request.destroyed) this.#place.context.log.error({ err: error }, 'a preview failed')
      if (response.headersSent) response.destroy()
      else sendRefusal(response, refusals.failed)
    })
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    this.#upgrade(request, socket, head).catch((error: unknown) => {
      this.#place.context.log.error({ err: error }, 'a preview failed')
      socket.destroy()
    })
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#checks)
    for (const stream of this.#open.keys()) stream.destroy()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const host = this.#hostOf(request)
    if (host === null) return sendRefusal(response, refusals.unknown)
    // Not a URL: a client may have written anything there.
    const [path, query] = (request.url ?? '/').split('?', 2)
    const secret = new URLSearchParams(query).get('ticket') ?? ''
    if (path === OPEN_PATH) return this.#enter(host, secret, request, response)
    if (!isPort(host)) return this.#content(host, path === CONTENT_PATH ? secret : null, request, response)
    const dialled = await this.#dial(host, request)
    if ('advice' in dialled) return sendRefusal(response, dialled)
    const { stream } = dialled
    this.#hold(stream, dialled)
    if (response.destroyed || request.socket.destroyed) return void stream.destroy()
    forwardRequest(request, response, { ...host, stream, secure: this.#isSecure })
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const host = this.#hostOf(request)
    const dialled = host === null || !isPort(host) ? refusals.unknown : await this.#dial(host, request)
    if (host === null || !isPort(host) || 'advice' in dialled) {
      return sendRefusal(closingResponse(request), 'advice' in dialled ? dialled : refusals.unknown)
    }
    const { stream } = dialled
    this.#hold(stream, dialled)
    if (socket.destroyed) return void stream.destroy()
    this.#hold(socket, { ...dialled, release: () => {} })
    forwardUpgrade(request, head, { ...host, stream, secure: this.#isSecure })
  }

  /** Takes a ticket, once. A ticket in hand opens a page that its holder could open anyway, and no other. */
  async #enter(host: PreviewHost, ticket: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'GET') return sendRefusal(response, refusals.unknown)
    if (!SECRET.test(ticket)) return sendRefusal(response, refusals.spent)
    const secret = randomBytes(32).toString('base64url')
    const digests = { ticket: credentialDigest(ticket), secret: credentialDigest(secret) }
    const { db, clock } = this.#place.context
    const entered = await this.#metered(host, request, digests.ticket, () =>
      takePreviewTicket(db, host, digests, clock.now()),
    )
    if (entered === null || entered === false) return sendRefusal(response, refusals.spent)
    if (entered !== true) return sendRefusal(response, entered)
    if (!isPort(host)) {
      const shown = await findPreview(db, { ...host, secret: digests.secret }, clock.now())
      if (shown === null || shown.lease_id !== null) return sendRefusal(response, refusals.viewClosed)
      return this.#artifacts.frame(shown, this.#originOf(host), `${CONTENT_PATH}?ticket=${secret}`, response)
    }
    response.writeHead(303, {
      Location: '/',
      'Set-Cookie': previewCookie(this.#isSecure, secret),
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'Content-Length': '0',
    })
    response.end()
  }

  /** Answers with an artifact for a browser that opened its page. @param secret null for a path that a view does not have */
  async #content(
    host: PreviewHost,
    secret: string | null,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    if (secret === null || request.method !== 'GET') return sendRefusal(response, refusals.unknown)
    if (!SECRET.test(secret)) return sendRefusal(response, refusals.viewClosed)
    const shown = await this.#find(host, credentialDigest(secret), request)
    if (shown === null) return sendRefusal(response, refusals.viewClosed)
    if ('advice' in shown) return sendRefusal(response, shown)
    if (shown.lease_id !== null) return sendRefusal(response, refusals.unknown)
    return this.#artifacts.content(shown, { origin: this.#originOf(host), label: host.label }, request, response)
  }

  /** Connects to the port for a browser that opened this preview, or says why not. */
  async #dial(host: PortHost, request: IncomingMessage): Promise<Dialled | Refusal> {
    const { context, doors } = this.#place
    const cookie = readCookie(this.#isSecure, request.headers.cookie)
    if (cookie === null || !SECRET.test(cookie)) return refusals.closed
    const secret = credentialDigest(cookie)
    const preview = await this.#find(host, secret, request)
    if (preview === null) return refusals.closed
    if ('advice' in preview) return preview
    if (preview.lease_id === null) return refusals.unknown
    const door = await doors.to(context.db, preview.host)
    if (door === null) return refusals.elsewhere
    const release = this.#places.take(host.label)
    if (release === null) return refusals.busy
    const left = new AbortController()
    const leave = () => left.abort()
    request.socket.once('close', leave)
    let stream: Awaited<ReturnType<PortDialler['dial']>> | undefined
    try {
      stream = await this.#dialler.dial(door, preview.lease_id, host.port, left.signal)
    } finally {
      request.socket.off('close', leave)
      if (typeof stream !== 'object') release()
    }
    if (typeof stream === 'object') return { host, secret, stream, release }
    if (stream === 'refused') return refusals.silentPort(host.port)
    return { at_rest: refusals.atRest, gone: refusals.closed, left: refusals.failed }[stream]
  }

  #find(host: PreviewHost, secret: Buffer, request: IncomingMessage): Promise<ShownPreview | null | Refusal> {
    const { db, clock } = this.#place.context
    return this.#metered(host, request, secret, () => findPreview(db, { ...host, secret }, clock.now()))
  }

  /** Looks a secret up, unless its address has guessed too often. A secret that is none costs the address a token. */
  async #metered<T extends object | boolean>(
    { label, port }: PreviewHost,
    request: IncomingMessage,
    digest: Buffer,
    read: () => Promise<T | null>,
  ): Promise<T | null | Refusal> {
    const address = addressBucket(this.#place.clientAddress(request))
    const secret = `${port ?? 'view'}-${label} ${digest.toString('base64')}`
    const found = await this.#guesses.meter(address, secret, read)
    return typeof found === 'number' ? refusals.tooMany(found) : found
  }

  /** Ends the streams of previews that were closed, or whose person may no longer use them. */
  async #endUnauthorized(): Promise<void> {
    const { db, clock, log } = this.#place.context
    for (const [stream, { host, secret }] of [...this.#open]) {
      try {
        if ((await findPreview(db, { ...host, secret }, clock.now())) === null) stream.destroy()
      } catch (error) {
        // Not knowing is no refusal: the next check asks again.
        log.warn({ err: error }, 'a preview could not be checked')
      }
    }
  }

  #hostOf(request: IncomingMessage): PreviewHost | null {
    const domain = this.#place.domain()
    const host = domain === null ? null : readPreviewHost(domain, request.headers.host)
    return host === 'other' ? null : host
  }

  #originOf(host: PreviewHost): string {
    const domain = this.#place.domain()
    if (domain === null) throw new Error('a preview was reached without a domain for previews')
    return `${domain.scheme}://${previewHost(domain, host)}`
  }

  get #isSecure(): boolean {
    return this.#place.domain()?.scheme === 'https'
  }

  #hold(stream: Duplex, { host, secret, release }: Held & Pick<Dialled, 'release'>): void {
    if (stream.closed) {
      release()
      return
    }
    this.#open.set(stream, { host, secret })
    stream.once('close', () => {
      this.#open.delete(stream)
      release()
    })
    // The port may answer only after the close.
    if (this.#isClosed) stream.destroy()
  }
}

const isPort = (host: PreviewHost): host is PortHost => host.port !== null

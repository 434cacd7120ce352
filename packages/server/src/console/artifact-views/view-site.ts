import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

import { type Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { artifactViewOf } from '@berth/contract'
import type { OtherHosts } from '@berth/core/http/routing/other-hosts.ts'
import { addressBucket } from '@berth/core/identity/guard/address-bucket.ts'
import { GuessMeter } from '@berth/core/identity/guard/guess-meter.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import { closingResponse } from '../ports/forward.ts'
import type { PreviewPlace } from '../ports/preview-place.ts'
import { SECRET } from '../ports/preview-site.ts'
import { type Refusal, refusals, sendRefusal } from '../ports/refusals.ts'
import { guardedHtml, namesFrames } from './guarded-html.ts'
import type { ViewPlace } from './open-view.ts'
import { readViewHost, viewHost } from './view-host.ts'
import { contentHeaders, framePage } from './view-pages.ts'
import { findView, takeViewTicket } from './view-sql.ts'

const OPEN_PATH = '/.berth/open'
const CONTENT_PATH = '/.berth/content'
/** Contents of which it is remembered whether they name frames. */
const MOST_REMEMBERED = 10_000
/** How long the content may be loaded again, as by reloading the frame or by saving a PDF. */
const LIFE_MS = 60 * 60_000

const closed: Refusal = {
  status: 403,
  title: 'This view is closed',
  words: 'It ends after an hour, and with your sign-in. Open the file again from its Session in the console.',
}

/**
 * Serves the hosts of views: a ticket opens a page with a frame, once, and the frame has the artifact. An agent wrote it,
 * so it gets an origin that nothing else has, no cookies, and no way to a network.
 */
export class ViewSite implements OtherHosts {
  readonly #place: ViewPlace & Pick<PreviewPlace, 'clientAddress'>
  readonly #guesses: GuessMeter
  /** Meters each view by its label: its content is read from the blobs each time. */
  readonly #reads = new GuessMeter()
  /** By digest, so it never changes. */
  readonly #framed = new Map<string, boolean>()

  constructor(place: ViewPlace & Pick<PreviewPlace, 'clientAddress'>, guesses = new GuessMeter()) {
    this.#place = place
    this.#guesses = guesses
  }

  takes(request: IncomingMessage): boolean {
    return this.#at(request) !== null
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => response.destroy())
    this.#answer(request, response).catch((error: unknown) => {
      if (!request.destroyed) this.#place.context.log.error({ err: error }, 'a view of an artifact failed')
      if (response.headersSent) response.destroy()
      else sendRefusal(response, refusals.failed)
    })
  }

  upgrade(request: IncomingMessage, socket: Duplex): void {
    socket.on('error', () => socket.destroy())
    sendRefusal(closingResponse(request), refusals.unknown)
  }

  close(): void {}

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = this.#at(request)
    if (at === null || request.method !== 'GET') return sendRefusal(response, refusals.unknown)
    const [path, query] = (request.url ?? '/').split('?', 2)
    const secret = new URLSearchParams(query).get('ticket') ?? ''
    if (path !== OPEN_PATH && path !== CONTENT_PATH) return sendRefusal(response, refusals.unknown)
    if (!SECRET.test(secret)) return sendRefusal(response, path === OPEN_PATH ? refusals.spent : closed)
    if (path === OPEN_PATH) return this.#open(at, secret, request, response)
    return this.#content(at, secret, request, response)
  }

  /** Looks a secret up, unless its address has guessed too often. */
  async #metered<T extends object | boolean>(
    { label }: Place,
    request: IncomingMessage,
    secret: string,
    look: () => Promise<T | null>,
  ): Promise<T | null | Refusal> {
    const address = addressBucket(this.#place.clientAddress(request))
    const found = await this.#guesses.meter(
      address,
      `view-${label} ${credentialDigest(secret).toString('base64')}`,
      look,
    )
    return typeof found === 'number' ? refusals.tooMany(found) : found
  }

  /** Takes a ticket, once, and answers with the frame. */
  async #open(place: Place, ticket: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { label, origin } = place
    const { db, clock } = this.#place.context
    const secret = randomBytes(32).toString('base64url')
    const digests = { ticket: credentialDigest(ticket), content: credentialDigest(secret) }
    const now = clock.now()
    const endsAt = new Date(now.getTime() + LIFE_MS)
    const taken = await this.#metered(place, request, ticket, () => takeViewTicket(db, label, digests, { now, endsAt }))
    if (taken === null || taken === false) return sendRefusal(response, refusals.spent)
    if (taken !== true) return sendRefusal(response, taken)
    const found = await this.#find(label, secret)
    if (found === null) return sendRefusal(response, closed)
    const { page, headers } = framePage(origin, { ...found, contentPath: `${CONTENT_PATH}?ticket=${secret}` })
    response.writeHead(200, headers)
    response.end(page)
  }

  async #content(place: Place, secret: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { label, origin } = place
    const found = await this.#metered(place, request, secret, () => this.#find(label, secret))
    if (found === null) return sendRefusal(response, closed)
    if ('words' in found) return sendRefusal(response, found)
    const waitSeconds = this.#reads.take(label, '')
    if (waitSeconds !== null) return sendRefusal(response, refusals.tooMany(waitSeconds))
    // Outside the frame nothing would keep it from navigating elsewhere. A PDF's viewer asks again to save it.
    const to = request.headers['sec-fetch-dest']
    if (found.kind === 'html' && to !== undefined && to !== 'iframe') return sendRefusal(response, refusals.spent)
    const { kind, sha256, sizeBytes } = found
    const bytes = await this.#place.context.blobs.get(sha256)
    const headers = contentHeaders(origin, found)
    if (kind === 'html') {
      response.writeHead(200, headers)
      await pipeline(Readable.from(guardedHtml(bytes)), response)
    } else {
      response.writeHead(200, { ...headers, 'Content-Length': String(sizeBytes) })
      await pipeline(bytes, response)
    }
  }

  async #find(label: string, secret: string) {
    const { db, clock } = this.#place.context
    const row = await findView(db, { label, content: credentialDigest(secret) }, clock.now())
    const kind = row === null ? null : artifactViewOf(row.name)
    if (row === null || kind === null) return null
    const isScripted = kind === 'pdf' || !(await this.#namesFrames(row.sha256))
    return { name: row.name, kind, sha256: row.sha256, sizeBytes: row.size_bytes, isScripted }
  }

  /** Reads a content for it once, when its view opens. */
  async #namesFrames(sha256: string): Promise<boolean> {
    const known = this.#framed.get(sha256)
    if (known !== undefined) return known
    const found = await namesFrames(await this.#place.context.blobs.get(sha256))
    if (this.#framed.size >= MOST_REMEMBERED) this.#framed.clear()
    this.#framed.set(sha256, found)
    return found
  }

  #at(request: IncomingMessage): Place | null {
    const domain = this.#place.domain()
    const label = domain === null ? null : readViewHost(domain, request.headers.host)
    return domain === null || label === null ? null : { label, origin: `${domain.scheme}://${viewHost(domain, label)}` }
  }
}

/** The host of a view. */
interface Place {
  readonly label: string
  readonly origin: string
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { artifactViewOf } from '@berth/contract'
import { GuessMeter } from '@berth/core/identity/guard/guess-meter.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import type { PreviewedArtifacts } from '../ports/preview-site.ts'
import type { ShownArtifact } from '../ports/preview-sql.ts'
import { refusals, sendRefusal } from '../ports/refusals.ts'
import { guardedHtml, namesFrames } from './guarded-html.ts'
import { contentHeaders, framePage } from './view-pages.ts'

/** Contents of which it is remembered whether they name frames. */
const MOST_REMEMBERED = 10_000

/**
 * Serves artifacts at the hosts of their previews: a page with a frame, and the artifact in it. An agent wrote it, so it gets
 * an origin that nothing else has, no cookies, and no way to a network.
 */
export class ArtifactPages implements PreviewedArtifacts {
  readonly #blobs: () => Pick<Blobs, 'get'>
  /** Meters each view by its label: its content is read from the blobs each time. */
  readonly #reads = new GuessMeter()
  /** By digest, so it never changes. */
  readonly #framed = new Map<string, Promise<boolean>>()

  constructor(blobs: () => Pick<Blobs, 'get'>) {
    this.#blobs = blobs
  }

  async frame(artifact: ShownArtifact, origin: string, contentPath: string, response: ServerResponse): Promise<void> {
    const { page, headers } = framePage(origin, { ...(await this.#judged(artifact)), contentPath })
    response.writeHead(200, headers)
    response.end(page)
  }

  async content(
    artifact: ShownArtifact,
    { origin, label }: { readonly origin: string; readonly label: string },
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const waitSeconds = this.#reads.take(label, '')
    if (waitSeconds !== null) return sendRefusal(response, refusals.tooMany(waitSeconds))
    const judged = await this.#judged(artifact)
    // Outside the frame nothing would keep it from navigating elsewhere. A PDF's viewer asks again to save it.
    const to = request.headers['sec-fetch-dest']
    if (judged.kind === 'html' && to !== undefined && to !== 'iframe') return sendRefusal(response, refusals.spent)
    const bytes = await this.#blobs().get(artifact.sha256)
    const headers = contentHeaders(origin, judged)
    if (judged.kind === 'html') {
      response.writeHead(200, headers)
      await pipeline(Readable.from(guardedHtml(bytes)), response)
    } else {
      response.writeHead(200, { ...headers, 'Content-Length': String(artifact.size_bytes) })
      await pipeline(bytes, response)
    }
  }

  async #judged({ name, sha256 }: ShownArtifact) {
    const kind = artifactViewOf(name)
    if (kind === null) throw new Error(`an artifact is shown that is neither HTML nor PDF: ${sha256}`)
    return { name, kind, isScripted: kind === 'pdf' || !(await this.#namesFrames(sha256)) }
  }

  /** Reads a content for it once, when its view opens. */
  #namesFrames(sha256: string): Promise<boolean> {
    const known = this.#framed.get(sha256)
    if (known !== undefined) return known
    const found = this.#blobs().get(sha256).then(namesFrames)
    found.catch(() => this.#framed.delete(sha256))
    if (this.#framed.size >= MOST_REMEMBERED) this.#framed.clear()
    this.#framed.set(sha256, found)
    return found
  }
}

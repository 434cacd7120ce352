import { Readable } from 'node:stream'
import type { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Context } from '../../context.ts'
import { namesTag } from '../../http/request/entity-tag.ts'
import type { Handlers, Reply } from '../../http/routing/handler.ts'
import { type ArtifactRow, attachment, toArtifact } from './artifact.ts'
import { cutRange, readRange } from './byte-range.ts'
import { pageArtifacts, readArtifact } from './read-artifact.ts'

/** Serves Artifacts over HTTP. */
export function artifactHandlers(
  context: Context,
): Pick<Handlers, 'listArtifacts' | 'getArtifact' | 'getArtifactContent'> {
  return {
    listArtifacts: async ({ principal, params, query }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: await pageArtifacts(context, principal, key, query) }
    },
    getArtifact: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return {
        status: 200,
        body: { artifact: toArtifact(await readArtifact(context, principal, key, params.artifactId)) },
      }
    },
    getArtifactContent: async ({ principal, params, headers }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return content(context, await readArtifact(context, principal, key, params.artifactId), headers)
    },
  }
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

async function content(context: Context, row: ArtifactRow, headers: Headers): Promise<Reply> {
  const etag = `"${row.sha256}"`
  const shared = { etag, 'cache-control': 'private, no-cache', 'accept-ranges': 'bytes' }
  if (namesTag(headers['if-none-match'], etag)) return { status: 304, headers: shared }
  const fresh = headers['if-range'] === undefined || headers['if-range'] === etag
  const range = fresh ? readRange(single(headers['range']), row.size_bytes) : null
  if (range === 'unsatisfiable') throw outside(row.size_bytes)
  const whole = await context.blobs.get(row.sha256)
  const length = range === null ? row.size_bytes : range.end - range.start + 1
  return {
    status: range === null ? 200 : 206,
    bytes: range === null ? whole : cut(whole, range),
    headers: {
      ...shared,
      'content-type': 'application/octet-stream',
      'content-length': String(length),
      'content-disposition': attachment(row.name),
      ...(range !== null && { 'content-range': `bytes ${range.start}-${range.end}/${row.size_bytes}` }),
    },
  }
}

const single = (header: string | string[] | undefined) => (typeof header === 'string' ? header : undefined)

function outside(sizeBytes: number): ApiError {
  return refusal('range_not_satisfiable', {}, undefined, { 'content-range': `bytes */${sizeBytes}` })
}

/** Returns a range of a content. The content ends with it, also if nobody has read a byte of it. */
const cut = (whole: Readable, range: Parameters<typeof cutRange>[1]): Readable =>
  Readable.from(cutRange(whole, range)).once('close', () => whole.destroy())

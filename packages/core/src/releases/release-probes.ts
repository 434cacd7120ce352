import { createHash } from 'node:crypto'
import { type ActivateRuntimeReleaseProbe, limits } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import { type FetchOptions, FetchRefused, getPublic } from '@berth/platform/network/public-get.ts'
import type { BlobRef } from '@berth/platform/storage/blobs/blobs.ts'
import type { Context } from '../context.ts'
import { findProbe, findUpload, type ProbeRow, recordUpload, upsertProbe } from './probe-sql.ts'

const HOUR_MS = 60 * 60_000
/** A probe stands at most this long. */
export const LONGEST_PROBE_MS = 24 * HOUR_MS
const USUAL_PROBE_MS = HOUR_MS
/** Bound of fetching an engine, from the resolution of its host to its last byte. */
const FETCH_MS = 30_000

/** How engines are fetched; tests replace parts. */
export interface EngineFetching extends Pick<FetchOptions, 'network' | 'mayDial' | 'ca'> {
  readonly maxBytes?: number
  readonly timeoutMs?: number
}

type ProbeContext = Pick<Context, 'db' | 'blobs' | 'clock'>

/**
 * Makes a release the one that an installation tries, once its engine is stored and is what its digest says. A repeated
 * activation fetches nothing.
 *
 * @throws ApiError 400 `invalid_request` for a deadline out of range, or an engine that cannot be had or is another; 409
 * `runtime_release_conflict` if the release stands with another engine
 */
export async function activateProbe(
  { db, blobs, clock }: ProbeContext,
  fetching: EngineFetching,
  installationId: string,
  releaseSha: string,
  { engine, expiresAt: until }: ActivateRuntimeReleaseProbe,
): Promise<ProbeRow> {
  const { sha256, url } = engine
  const expiresAt = readDeadline(until ?? null, clock.now())
  const current = await findProbe(db, installationId, clock.now())
  if (current?.release_sha !== releaseSha) {
    if (url !== undefined) await blobs.put(fetchEngine(url, sha256, fetching))
    else if ((await findUpload(db, installationId, releaseSha)) !== sha256 || !(await blobs.has(sha256))) {
      throw invalidField(
        ['engine', 'sha256'],
        'is not the engine uploaded for this release: upload it, or give its URL',
      )
    }
  } else if (current.engine_sha256 !== sha256) throw refusal('runtime_release_conflict')
  const now = clock.now()
  const defaultExpiresAt = new Date(now.getTime() + USUAL_PROBE_MS)
  const requested = { installationId, releaseSha, engineSha256: sha256, expiresAt, defaultExpiresAt }
  const probe = await upsertProbe(db, requested, now)
  if (probe === null) throw refusal('runtime_release_conflict')
  return probe
}

/**
 * Stores an engine for a later activation.
 *
 * @throws ApiError 400 `malformed_request_body` if it is empty; 409 `runtime_release_conflict` if the release stands with
 * another engine; whatever reading the content throws
 */
export async function uploadEngine(
  { db, blobs, clock }: ProbeContext,
  installationId: string,
  releaseSha: string,
  content: AsyncIterable<Uint8Array>,
): Promise<BlobRef> {
  const stored = await blobs.put(content)
  if (stored.sizeBytes === 0) throw refusal('malformed_request_body')
  const current = await findProbe(db, installationId, clock.now())
  if (current?.release_sha === releaseSha && current.engine_sha256 !== stored.sha256) {
    throw refusal('runtime_release_conflict')
  }
  await db.transaction(tx => recordUpload(tx, { installationId, releaseSha, sha256: stored.sha256 }, clock.now()))
  return stored
}

/** Yields an engine from its URL. Content of another digest ends in an error, so nothing of it is stored. */
async function* fetchEngine(
  url: string,
  sha256: string,
  { maxBytes = limits.engineBytes, timeoutMs = FETCH_MS, ...shared }: EngineFetching,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of getPublic(url, { ...shared, maxBytes, signal: AbortSignal.timeout(timeoutMs) })) {
      hash.update(chunk)
      yield chunk
    }
  } catch (cause) {
    if (!(cause instanceof FetchRefused)) throw cause
    throw new ApiError(400, 'invalid_request', {
      fields: { issues: [{ path: ['engine', 'url'], message: cause.message }] },
      cause,
    })
  }
  const found = hash.digest('hex')
  if (found !== sha256) throw invalidField(['engine', 'sha256'], `the URL has an engine of digest ${found}`)
}

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i

function readDeadline(text: string | null, now: Date): Date | null {
  if (text === null) return null
  const at = instant.test(text) ? Date.parse(text) : Number.NaN
  const aheadMs = at - now.getTime()
  if (aheadMs > 0 && aheadMs <= LONGEST_PROBE_MS) return new Date(at)
  throw invalidField(['expiresAt'], 'is not an instant within the next 24 hours')
}

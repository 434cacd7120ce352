import type { NewArtifact } from '../../sessions/artifacts/keep-artifact.ts'
import type { Blobs } from '../../storage/blobs/blobs.ts'
import { MAX_SUMMARY_BYTES } from '../agent/prompt-outcome.ts'

/** What becomes of a Run's summary as an Artifact. */
export type Result =
  | { readonly kind: 'none' }
  | { readonly kind: 'kept'; readonly artifact: Omit<NewArtifact, 'runId'> }
  | {
      readonly kind: 'too_large'
      readonly omission: { kind: 'run_result'; name: string; sizeBytes: number; reason: string }
    }

const NAME = 'summary.md'

/**
 * Puts a Run's summary into the blob store, ahead of the transaction that ends the Run; one over its cap is left out
 * whole (interface 8.5). Bytes that no row comes to name are swept.
 * @param longBytes length of what would have been the summary, where it is not at hand for being too long
 */
export async function keepResult(blobs: Blobs, summary: string | undefined, longBytes?: number): Promise<Result> {
  if (longBytes !== undefined) return tooLarge(longBytes)
  if (summary === undefined) return { kind: 'none' }
  const content = Buffer.from(summary, 'utf8')
  if (content.length > MAX_SUMMARY_BYTES) return tooLarge(content.length)
  const { sha256, sizeBytes } = await blobs.put(content)
  return { kind: 'kept', artifact: { kind: 'run_result', name: NAME, mediaType: 'text/markdown', sizeBytes, sha256 } }
}

/** A worker that took over finds in the log what an event holds, which is less than a summary may be. */
function tooLarge(sizeBytes: number): Result {
  const over = sizeBytes > MAX_SUMMARY_BYTES
  const reason = over ? `over the cap of ${MAX_SUMMARY_BYTES} bytes` : 'longer than what the log holds of it'
  return { kind: 'too_large', omission: { kind: 'run_result', name: NAME, sizeBytes, reason } }
}

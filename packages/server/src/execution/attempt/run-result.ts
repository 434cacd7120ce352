import type { NewArtifact } from '../../sessions/artifacts/keep-artifact.ts'
import type { Blobs } from '../../storage/blobs/blobs.ts'
import { MAX_SUMMARY_BYTES } from '../agent/prompt-outcome.ts'

/** How a Run's summary is stored as an Artifact. */
export type Result =
  | { readonly kind: 'none' }
  | { readonly kind: 'kept'; readonly artifact: Omit<NewArtifact, 'runId'> }
  | {
      readonly kind: 'too_large'
      readonly omission: { kind: 'run_result'; name: string; sizeBytes: number; reason: string }
    }

const NAME = 'summary.md'

/**
 * Puts a Run's summary into the blob store before the transaction that ends the Run. A summary over its cap is left out
 * whole. The housekeeper later sweeps bytes that no row names.
 *
 * @param longBytes length of a last message that is too long to be at hand
 */
export async function keepResult(blobs: Blobs, summary: string | undefined, longBytes?: number): Promise<Result> {
  if (longBytes !== undefined) return tooLarge(longBytes)
  if (summary === undefined) return { kind: 'none' }
  const content = Buffer.from(summary, 'utf8')
  if (content.length > MAX_SUMMARY_BYTES) return tooLarge(content.length)
  const { sha256, sizeBytes } = await blobs.put(content)
  return { kind: 'kept', artifact: { kind: 'run_result', name: NAME, mediaType: 'text/markdown', sizeBytes, sha256 } }
}

/** A worker that took over reads the last message from the log, whose events hold less than a summary may. */
function tooLarge(sizeBytes: number): Result {
  const over = sizeBytes > MAX_SUMMARY_BYTES
  const reason = over ? `over the cap of ${MAX_SUMMARY_BYTES} bytes` : 'longer than the part that the log holds'
  return { kind: 'too_large', omission: { kind: 'run_result', name: NAME, sizeBytes, reason } }
}

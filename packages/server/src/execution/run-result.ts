import type { NewArtifact } from '../artifacts/keep-artifact.ts'
import { knownSecrets } from '../secrets.ts'
import type { Blobs } from '../storage/blobs.ts'
import { MAX_SUMMARY_BYTES } from './prompt-outcome.ts'

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
 */
export async function keepResult(blobs: Blobs, summary: string | undefined): Promise<Result> {
  if (summary === undefined) return { kind: 'none' }
  const content = Buffer.from(knownSecrets.cutText(summary), 'utf8')
  if (content.length > MAX_SUMMARY_BYTES) {
    const reason = `over the cap of ${MAX_SUMMARY_BYTES} bytes`
    return { kind: 'too_large', omission: { kind: 'run_result', name: NAME, sizeBytes: content.length, reason } }
  }
  const { sha256, sizeBytes } = await blobs.put(content)
  return { kind: 'kept', artifact: { kind: 'run_result', name: NAME, mediaType: 'text/markdown', sizeBytes, sha256 } }
}

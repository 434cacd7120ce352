import { wholeForms } from '@berth/platform/kit/redactor.ts'
import { ByteSearch } from '@berth/supervisor/tree/byte-search'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import { listSecretValues } from '../log/session-redactor.ts'
import type { ReviewRow } from '../reviews/review-sql.ts'
import { isInAdded } from './is-in-added.ts'
import type { PublicationClaim } from './publication-sql.ts'

/**
 * Returns true if anything that a Publication delivers holds the value of a secret that a sandbox of the Session was
 * given: its branch, its title, its body, and the names and contents of the files that the review adds to its base. Contents are
 * searched as they stream by. A value under 8 characters is not searched for, as it is not masked.
 * @throws UnsealError, GitError, BlobMissing, BlobCorrupt, or the signal's reason
 */
export async function hasSecret(
  context: DeliveryContext,
  claim: PublicationClaim,
  source: DeliverySource,
  review: ReviewRow,
  signal: AbortSignal,
): Promise<boolean> {
  const secrets = await listSecretValues(context.db, claim)
  const search = new ByteSearch(secrets.flatMap(wholeForms).map(form => Buffer.from(form)))
  if (search.isEmpty) return false
  const { branch, title, body } = claim.row
  // The host gets the body's line ends as they are, and the commit gets plain ones.
  if ([branch, title, body, body.replaceAll('\r\n', '\n')].some(text => search.isIn(Buffer.from(text)))) return true
  return await isInAdded(context, source, review, search, signal)
}

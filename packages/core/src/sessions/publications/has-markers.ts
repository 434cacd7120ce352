import { ByteSearch } from '@berth/supervisor/tree/byte-search'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import { WORK_SIDE } from '../../git/merge-trees.ts'
import { hasBrought } from '../leases/brought-sql.ts'
import type { ReviewRow } from '../reviews/review-sql.ts'
import { isInAdded } from './is-in-added.ts'
import type { PublicationClaim } from './publication-sql.ts'

/** How the line ends with which a conflict of `mergeWork` begins; git adds the path of a side that was renamed. */
const ends = ['\n', '\r', ':']

/**
 * Returns true if a changed file holds the beginning of a conflict that commits left there when they were brought into the
 * workspace. Only such a workspace is searched, and only for the names that its merges give the sides: whatever else a file
 * says of conflicts is its own.
 * @throws GitError, BlobMissing, BlobCorrupt, or the signal's reason
 */
export async function hasMarkers(
  context: DeliveryContext,
  claim: PublicationClaim,
  source: DeliverySource,
  review: ReviewRow,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(await hasBrought(context.db, claim))) return false
  const search = new ByteSearch(ends.map(end => Buffer.from(`\n<<<<<<< ${WORK_SIDE}${end}`)))
  return await isInAdded(context, source, review, search, signal)
}

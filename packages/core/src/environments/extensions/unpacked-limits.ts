import { environmentLimits } from '@berth/contract'

/** What a file system spends on a file or directory besides its bytes. */
export const BLOCK_BYTES = 4096
/** Of an unpacked extension: its entries, and as many directories that they imply. */
export const MAX_UNPACKED_BYTES =
  environmentLimits.archiveExpandedBytes + 2 * environmentLimits.archiveEntries * BLOCK_BYTES

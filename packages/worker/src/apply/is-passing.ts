import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { ClaimLost } from '../claim/claim.ts'
import { FenceLostError } from '../supervisor/errors.ts'

/** Returns true if an error says that another worker goes on with the apply, or this one does later. */
export const isPassing = (error: unknown): boolean =>
  error instanceof ClaimLost || error instanceof FenceLostError || error instanceof DatabaseUnavailable

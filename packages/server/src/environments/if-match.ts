import { refusal } from '../kit/refusal.ts'

/**
 * Returns the revision that `If-Match` names; the contract has judged its form.
 * @throws ApiError 428 `precondition_required` if it is absent
 */
export function requireSeen(ifMatch: string | undefined): number {
  if (ifMatch === undefined) throw refusal('precondition_required')
  return revisionOf(ifMatch)
}

/** Returns the revision in an entity tag such as `"3"`. */
export const revisionOf = (ifMatch: string): number => Number(ifMatch.slice(1, -1))

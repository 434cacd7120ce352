/**
 * Returns the revision in an entity tag such as `"3"`. A number too large to be exact becomes the largest exact one, which
 * no environment reaches: it is stale.
 */
export const revisionOf = (ifMatch: string): number => Math.min(Number(ifMatch.slice(1, -1)), Number.MAX_SAFE_INTEGER)

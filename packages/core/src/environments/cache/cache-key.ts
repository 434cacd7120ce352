import { createHash } from 'node:crypto'

const DAY_MS = 24 * 60 * 60_000
/** A cache that was not used for this long goes. */
export const CACHE_KEPT_MS = 7 * DAY_MS

/**
 * Returns the digest of everything besides the environment and the branch that a cache depends on. The document's
 * revision is no part of it.
 * @param repository identifies the launch repository over all hosts; null without one
 * @param reader whose grants the sandbox reads repositories with; null if it reads none
 */
export function cacheKey(
  paths: readonly string[],
  repository: string | null,
  { kind, machine }: { readonly kind: string; readonly machine: string },
  reader: string | null,
): Buffer {
  const parts = [[...paths].sort(), repository, kind, machine, ...(reader === null ? [] : [reader])]
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}

/** The type of this machine: programs that a cache holds run on no other. */
export const thisMachine = `${process.platform}-${process.arch}`

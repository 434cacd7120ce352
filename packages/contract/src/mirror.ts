import type { Operation } from './operation.ts'

/**
 * Returns the path at which first-party clients also find an operation, for people alone; null if it has none. Operations
 * of installations, of the gateway and of apps' backends have none, nor has the description of the API, nor have tools.
 */
export function mirrorOf(row: Operation): string | null {
  if (row.access === 'bearer') {
    const isMirrored = row.mirrored !== false && row.principal !== 'app_installation'
    return isMirrored && row.path.startsWith('/v1/') ? `/cloud${row.path}` : null
  }
  if (row.access !== 'person' || row.path.startsWith('/cloud/')) return null
  return row.path.startsWith('/api/') ? row.path.replace('/api/', '/cloud/account/') : `/cloud${row.path}`
}

/** Returns the path that a path of a mirror stands for; null if it lies in none. */
export function mirroredPath(path: string): string | null {
  const [, of, rest] = /^\/cloud\/(v1|account)\/(.*)$/s.exec(path) ?? []
  if (of === undefined) return null
  return of === 'v1' ? `/v1/${rest}` : `/api/${rest}`
}

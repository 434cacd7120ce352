import { HostCache, type HostCacheBounds } from '@berth/platform/storage/host-cache.ts'

/** Opens a cache of a host at a directory. Unless the bounds say so, it has room, and no sandbox uses an entry. */
export function hostCache(dir: string, bounds: Partial<HostCacheBounds> = {}): HostCache {
  const { inUse = () => Promise.resolve(new Set<string>()) } = bounds
  // Read at each use, so that a test may take the room away.
  return new HostCache(dir, {
    get bytes() {
      return bounds.bytes ?? 1024 ** 4
    },
    inUse,
    ...(bounds.free !== undefined && { free: bounds.free }),
  })
}

/** Returns whether a path, or another prefix, is a prefix or lies below it, counted by segments. */
export function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`)
}

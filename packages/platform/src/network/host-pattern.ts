/** Returns whether a name matches a pattern: the name itself, or with `*.` any name below it. */
export function fitsHost(name: string, pattern: string): boolean {
  return pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern
}

/** Returns whether some name matches both patterns. */
export function shareHosts(one: string, other: string): boolean {
  const [a, b] = [bare(one), bare(other)]
  // Of two patterns with `*.`, the one that lies deeper decides; `*.name` itself does not cover `name`.
  if (a === b) return one.startsWith('*.') === other.startsWith('*.')
  return fitsHost(a, other) || fitsHost(b, one)
}

/** Returns whether every name that matches a pattern matches the other. */
export function coversHosts(wide: string, narrow: string): boolean {
  return narrow === wide || (wide.startsWith('*.') && bare(narrow).endsWith(wide.slice(1)))
}

const bare = (pattern: string): string => (pattern.startsWith('*.') ? pattern.slice(2) : pattern)

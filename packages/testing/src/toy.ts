/**
 * Returns an implementation that somebody could add: it does by another one what the members of an interface ask, and has
 * nothing else, so whoever needs more than the interface fails on it.
 */
export function toyOf<T extends object>(other: T, members: readonly (keyof T)[], own: Partial<T> = {}): T {
  const member = (name: keyof T): unknown => {
    const value = other[name]
    return typeof value === 'function' ? value.bind(other) : value
  }
  return { ...Object.fromEntries(members.map(name => [name, member(name)])), ...own } as T
}

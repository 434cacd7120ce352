/** Returns whether two JSON values are equal; the order of members does not count. */
export function same(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const [from, to] = [new Map(Object.entries(left)), new Map(Object.entries(right))]
  return from.size === to.size && [...from].every(([name, value]) => to.has(name) && same(value, to.get(name)))
}

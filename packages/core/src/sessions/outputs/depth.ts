/**
 * Returns how deep arrays and objects are nested in a JSON value, without calling itself; a value deeper than `most` may
 * be told as `most + 1`.
 */
export function depthOf(value: unknown, most: number): number {
  let level: unknown[] = [value]
  for (let depth = 0; ; depth += 1) {
    const inner = level.filter(each => typeof each === 'object' && each !== null)
    if (inner.length === 0 || depth > most) return depth
    level = inner.flatMap(each => Object.values(each as object))
  }
}

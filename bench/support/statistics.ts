/** Returns a quantile of unsorted figures. */
export function quantile(figures: readonly number[], q: number): number {
  const sorted = [...figures].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
}

export const median = (figures: readonly number[]): number => quantile(figures, 0.5)

export const show = (figure: number, digits = 2): string => figure.toFixed(digits)

/** Prints figures beside their bounds; the process fails if one is missed. */
export function printBounds(
  figures: Readonly<Record<string, readonly [figure: number | undefined, bound: number]>>,
): void {
  for (const [name, [figure = Number.NaN, bound]] of Object.entries(figures)) {
    process.stdout.write(`${name}=${show(figure)} bound=${bound}\n`)
    if (!(figure <= bound)) process.exitCode = 1
  }
}

/** Returns the 95 % interval of a share, by Wilson's score. */
export function wilson(hits: number, of: number): [low: number, high: number] {
  const z = 1.959964
  const middle = (hits + z ** 2 / 2) / (of + z ** 2)
  const half = (z / (of + z ** 2)) * Math.sqrt((hits * (of - hits)) / of + z ** 2 / 4)
  return [Math.max(0, middle - half), Math.min(1, middle + half)]
}

/** Returns the mean of figures and its 95 % interval, as of a normal distribution. */
export function meanOf(figures: readonly number[]): [mean: number, low: number, high: number] {
  const mean = figures.reduce((sum, figure) => sum + figure, 0) / figures.length
  const squares = figures.reduce((sum, figure) => sum + (figure - mean) ** 2, 0)
  const half = figures.length < 2 ? Number.NaN : 1.959964 * Math.sqrt(squares / (figures.length - 1) / figures.length)
  return [mean, mean - half, mean + half]
}

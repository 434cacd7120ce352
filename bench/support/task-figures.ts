import type { Run } from '@berth/contract'
import { meanOf, show, wilson } from './statistics.ts'

/** One try of an agent at a task. `late`: its time was up. `unjudged`: it says nothing about the agent. */
export interface Attempt {
  readonly set: string
  readonly name: string
  readonly outcome: 'solved' | 'unsolved' | 'late' | 'unjudged'
  readonly reason?: string
  readonly run: Run | undefined
}

type Measure = (run: Run) => number

/** What is measured of a try; the four kinds of tokens do not overlap. */
const measures: Readonly<Record<string, Measure>> = {
  'cost, $': run => run.costUsd ?? 0,
  'fresh input': ({ usage }) => (usage ? usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteTokens : 0),
  'cached input': ({ usage }) => usage?.cachedInputTokens ?? 0,
  'cache writes': ({ usage }) => usage?.cacheWriteTokens ?? 0,
  output: ({ usage }) => usage?.outputTokens ?? 0,
  'time, s': ({ startedAt, queuedAt, endedAt = queuedAt }) =>
    (Date.parse(endedAt) - Date.parse(startedAt ?? queuedAt)) / 1000,
}

const digits: Readonly<Record<string, number>> = { 'cost, $': 4, 'time, s': 1 }

export interface Figures {
  readonly tries: number
  readonly solved: number
  readonly late: number
  readonly unjudged: number
  /** Tries whose cost is not known in full. */
  readonly costUnknown: number
  /** Share of tries that were solved, with its 95 % interval. */
  readonly share: readonly [share: number, low: number, high: number]
  /** Means of a try, with their 95 % intervals. */
  readonly means: Readonly<Record<string, readonly [mean: number, low: number, high: number]>>
}

/** Returns the figures of each set that was tried, and of all together. */
export function figuresOf(attempts: readonly Attempt[]): Record<string, Figures> {
  const sets = Map.groupBy(attempts, ({ set }) => set)
  return Object.fromEntries([...sets, ['total', attempts] as const].map(([name, of]) => [name, figuresOfSet(of)]))
}

function figuresOfSet(attempts: readonly Attempt[]): Figures {
  const count = (outcome: string) => attempts.filter(one => one.outcome === outcome).length
  const judged = attempts.filter(({ outcome }) => outcome !== 'unjudged')
  const runs = judged.flatMap(({ run }) => run ?? [])
  const solved = count('solved')
  return {
    tries: judged.length,
    ...{ solved, late: count('late'), unjudged: count('unjudged') },
    costUnknown: runs.filter(run => run.costComplete === false).length,
    share: [solved / judged.length, ...wilson(solved, judged.length)],
    means: Object.fromEntries(Object.entries(measures).map(([name, of]) => [name, meanOf(runs.map(of))])),
  }
}

/** Prints a table: a row for each set and for all of them. */
export function printFigures(figures: Readonly<Record<string, Figures>>): void {
  const interval = (figures: readonly [number, number, number], places: number) => {
    const [value, low, high] = figures.map(figure => show(figure, places))
    return `${value} (${low}..${high})`
  }
  const rows = Object.entries(figures).map(([name, { tries, solved, late, unjudged, costUnknown, share, means }]) => [
    ...[name, `${solved} of ${tries}`, interval(share, 2), String(late), String(unjudged), String(costUnknown)],
    ...Object.entries(means).map(([measure, mean]) => interval(mean, digits[measure] ?? 0)),
  ])
  const head = ['set', 'solved', 'share (95 %)', 'late', 'unjudged', 'cost unknown', ...Object.keys(measures)]
  for (const row of [head, ...rows]) {
    const widths = head.map((_, at) => Math.max(...[head, ...rows].map(cells => (cells[at] ?? '').length)))
    process.stdout.write(
      `${row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    )
  }
}

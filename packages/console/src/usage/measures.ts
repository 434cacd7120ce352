import type { UsageReport, UsageSums } from '@berth/contract'
import { dollars } from '../ui/format.ts'
import type { Measure } from './choices.ts'

interface Meaning {
  readonly label: string
  readonly of: (sums: UsageSums) => number
  readonly series: 'costUsd' | 'tokens' | 'requests'
  readonly format: (value: number) => string
  /** For the plot's axis, where there is little room. */
  readonly short: (value: number) => string
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const whole = (value: number) => value.toLocaleString('en')

export const meanings: Readonly<Record<Measure, Meaning>> = {
  cost: {
    label: 'Cost',
    of: ({ costUsd }) => costUsd,
    series: 'costUsd',
    format: dollars,
    short: value => (value >= 1000 ? `$${compact.format(value)}` : `$${Number(value.toPrecision(3))}`),
  },
  tokens: {
    label: 'Tokens',
    of: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
    series: 'tokens',
    format: whole,
    short: value => compact.format(value),
  },
  requests: {
    label: 'Requests',
    of: ({ requests }) => requests,
    series: 'requests',
    format: whole,
    short: value => compact.format(value),
  },
}

/** Formats a large number for a glance: `12.3M`. */
export const glance = (value: number): string => compact.format(value)

/** One layer of the stacked bars. */
export interface Layer {
  readonly label: string
  /** One value a day. */
  readonly values: readonly number[]
}

/**
 * Returns the layers of a plot, the dearest group first: the groups whose days the report tells, and a layer for
 * everything else. A report by day has one layer.
 */
export function layersOf(report: UsageReport, measure: Measure, nameOf: (at: number) => string): readonly Layer[] {
  const { of, series: name, label } = meanings[measure]
  const totals = report.days.map(of)
  if (report.by === 'day') return [{ label, values: totals }]
  const layers = report.series.map((series, at) => ({ label: nameOf(at), values: series[name] }))
  const rest = totals.map((total, day) => {
    const shown = layers.reduce((sum, { values }) => sum + (values[day] ?? 0), 0)
    // Sums of dollars differ in their last bits.
    return total - shown > total * 1e-9 ? total - shown : 0
  })
  return rest.some(value => value > 0) ? [...layers, { label: 'Others', values: rest }] : layers
}

import { useCallback, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Measure } from './choices.ts'
import { dayName } from './group-labels.ts'
import { type Layer, meanings } from './measures.ts'
import { layerColour, Swatch } from './swatch.tsx'

const height = 240

interface Props {
  readonly days: readonly string[]
  readonly layers: readonly Layer[]
  readonly measure: Measure
  readonly label: string
}

/** Bars of each day, one layer a group. The table below has the same numbers for those who cannot see it. */
export function UsagePlot({ days, layers, measure, label }: Props) {
  const [at, setAt] = useState<number | null>(null)
  const attach = useCallback(
    (root: HTMLDivElement | null) => {
      if (root === null) return
      const plot = new uPlot(optionsOf(root, layers.length, measure, setAt), stacked(days, layers), root)
      const resized = new ResizeObserver(() => plot.setSize({ width: root.clientWidth, height }))
      resized.observe(root)
      // The colours are the theme's; a canvas keeps its pixels, and the paths of bars keep their colour.
      const themed = new MutationObserver(() => plot.redraw(true, true))
      themed.observe(document.documentElement, { attributeFilter: ['data-theme'] })
      return () => {
        resized.disconnect()
        themed.disconnect()
        plot.destroy()
      }
    },
    [days, layers, measure],
  )
  return (
    <figure className="relative">
      <div ref={attach} role="img" aria-label={label} className="min-h-60" />
      {at !== null && days[at] !== undefined && <Reading days={days} layers={layers} measure={measure} at={at} />}
    </figure>
  )
}

/** The values of the day below the pointer. */
function Reading({ days, layers, measure, at }: Omit<Props, 'label'> & { at: number }) {
  const { format } = meanings[measure]
  const read = layers.map(({ label, values }, index) => ({ label, index, value: values[at] ?? 0 }))
  const total = read.reduce((sum, { value }) => sum + value, 0)
  return (
    <div
      aria-hidden
      className={`pointer-events-none absolute top-1 z-10 w-56 rounded-lg border border-line bg-raised px-3 py-2 text-xs shadow-float ${at < days.length / 2 ? 'right-2' : 'left-16'}`}
    >
      <p className="flex justify-between gap-3 font-medium">
        {dayName(days[at] ?? '')} <span className="tabular-nums">{format(total)}</span>
      </p>
      {layers.length > 1 &&
        read
          .filter(({ value }) => value > 0)
          .map(({ label, index, value }) => (
            <p key={index} className="mt-1 flex items-center gap-2 text-ink-2">
              <Swatch at={index} others={label === 'Others'} />
              <span className="min-w-0 flex-1 truncate">{label}</span>
              <span className="tabular-nums">{format(value)}</span>
            </p>
          ))}
    </div>
  )
}

/** Bars are painted over one another, so each layer includes the layers below it, and the highest is painted first. */
function stacked(days: readonly string[], layers: readonly Layer[]): uPlot.AlignedData {
  const sums = layers.map((_, last) =>
    days.map((_, day) => layers.slice(0, last + 1).reduce((sum, { values }) => sum + (values[day] ?? 0), 0)),
  )
  return [days.map(day => Date.parse(day) / 1000), ...sums.reverse()]
}

function optionsOf(
  root: HTMLElement,
  count: number,
  measure: Measure,
  onDay: (at: number | null) => void,
): uPlot.Options {
  const ink = (name: string) => () => getComputedStyle(root).getPropertyValue(`--${name}`)
  const bars = uPlot.paths.bars?.({ size: [0.7, 48], radius: [0.12, 0] })
  const axis = {
    stroke: ink('ink-3'),
    font: '11px Inter, system-ui, sans-serif',
    ticks: { show: false },
    grid: { stroke: ink('line'), width: 1 },
  }
  const dayS = 24 * 60 * 60
  return {
    width: root.clientWidth,
    height,
    padding: [12, 8, 0, 0],
    legend: { show: false },
    tzDate: seconds => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [({ cursor }) => onDay(cursor.idx ?? null)] },
    scales: {
      x: { range: (_, first, last) => [first - dayS * 0.6, last + dayS * 0.6] },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        space: 64,
        incrs: [1, 2, 7, 14, 30, 61].map(days => days * dayS),
        values: (_, splits) =>
          splits.map(at =>
            new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(at * 1000),
          ),
      },
      { ...axis, size: 56, values: (_, splits) => splits.map(meanings[measure].short) },
    ],
    series: [
      {},
      ...Array.from({ length: count }, (_, painted) => {
        const at = count - 1 - painted
        const fill = ink(layerColour(at, count > 6 && at === count - 1))
        return { fill, stroke: fill, width: 0, points: { show: false }, ...(bars === undefined ? {} : { paths: bars }) }
      }),
    ],
  }
}

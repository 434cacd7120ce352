import type { UsageGroup, UsageReport } from '@berth/contract'
import { Link } from '@tanstack/react-router'
import { to } from '../routing/to.ts'
import { counted, dollars } from '../ui/format.ts'
import { type Column, Table } from '../ui/table.tsx'
import type { Measure } from './choices.ts'
import { groupingLabels, groupName } from './group-labels.ts'
import { meanings } from './measures.ts'

/** The groups of a report in numbers. */
export function UsageTable({ report, measure }: { report: UsageReport; measure: Measure }) {
  const { by, groups, left } = report
  const used = by === 'day' ? groups.filter(({ requests }) => requests > 0).reverse() : groups
  const most = Math.max(...groups.map(meanings[measure].of), 0)
  return (
    <div className="flex flex-col gap-3">
      <Table
        label={`Usage by ${groupingLabels[by].toLowerCase()}`}
        columns={columnsOf(report, measure, most)}
        rows={used}
        keyOf={({ kind, id }) => `${kind}:${id}`}
      />
      {left > 0 && (
        <p className="text-xs text-ink-3">
          {counted(left, 'smaller group')} {left === 1 ? 'is' : 'are'} left out here. The CSV has all.
        </p>
      )}
    </div>
  )
}

const number = (value: number) => <span className="tabular-nums">{value.toLocaleString('en')}</span>

function columnsOf({ by }: UsageReport, measure: Measure, most: number): readonly Column<UsageGroup>[] {
  const right = 'text-right!'
  return [
    {
      id: 'group',
      header: groupingLabels[by],
      cell: group => (
        <span className="flex flex-col gap-1.5">
          <Name group={group} by={by} />
          <span aria-hidden className="h-1 w-full max-w-80 overflow-hidden rounded-full bg-hover">
            <span
              className="block h-full rounded-full bg-chart-1"
              style={{ width: `${most > 0 ? (100 * meanings[measure].of(group)) / most : 0}%` }}
            />
          </span>
        </span>
      ),
    },
    {
      id: 'requests',
      header: 'Requests',
      className: `${right} max-sm:hidden`,
      cell: ({ requests, failed }) => (
        <span className="flex flex-col items-end">
          {number(requests)}
          {failed > 0 && <span className="text-2xs text-ink-3">{failed.toLocaleString('en')} failed</span>}
        </span>
      ),
    },
    {
      id: 'input',
      header: 'Input',
      className: `${right} max-md:hidden`,
      cell: ({ inputTokens, cachedInputTokens }) => (
        <span className="flex flex-col items-end">
          {number(inputTokens)}
          {cachedInputTokens > 0 && (
            <span className="text-2xs text-ink-3">{Math.round((100 * cachedInputTokens) / inputTokens)}% cached</span>
          )}
        </span>
      ),
    },
    {
      id: 'output',
      header: 'Output',
      className: `${right} max-md:hidden`,
      cell: ({ outputTokens }) => number(outputTokens),
    },
    {
      id: 'cost',
      header: 'Cost',
      className: right,
      cell: ({ costUsd, unknownCost }) => (
        <span className="flex flex-col items-end">
          <span className="font-medium tabular-nums">{dollars(costUsd)}</span>
          {unknownCost > 0 && (
            <span className="text-2xs text-warning">+ {unknownCost.toLocaleString('en')} unpriced</span>
          )}
        </span>
      ),
    },
  ]
}

function Name({ group, by }: { group: UsageGroup; by: UsageReport['by'] }) {
  const name = groupName(group, by)
  if (group.kind === 'session' && group.id !== null && group.name !== null) {
    return (
      <Link {...to.session(group.id)} className="truncate hover:text-accent hover:underline">
        {name}
      </Link>
    )
  }
  return <span className={`truncate ${group.kind === 'model' ? 'font-mono text-xs' : ''}`}>{name}</span>
}

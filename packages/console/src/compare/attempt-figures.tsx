import { statusLabel, statusReason } from '@berth/client'
import { formatDuration } from '@berth/client/transcript'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ChangeCounts } from '../changes/change-counts.tsx'
import { to } from '../routing/to.ts'
import { dollars } from '../ui/format.ts'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { countsText } from '../verification/outcome-text.ts'
import type { Attempt } from './use-attempt.ts'

type Row = readonly [name: string, of: (attempt: Attempt) => ReactNode]

const rows: readonly Row[] = [
  ['Status', ({ session }) => [statusLabel(session.status), statusReason(session)].filter(Boolean).join(': ')],
  ['Agent', ({ session }) => [session.runtime ?? 'native', session.model].filter(Boolean).join(' · ')],
  ['Changes', ({ session }) => (session.changes ? <ChangeCounts changes={session.changes} /> : 'None')],
  ['Checks', checksOf],
  ['Cost', ({ cost }) => cost && `${cost.costComplete ? '' : 'at least '}${dollars(cost.costUsd)}`],
  ['Time at work', ({ cost }) => cost?.time && formatDuration(worked(cost.time))],
]

const worked = (time: { modelMs: number; toolsMs: number; platformMs: number }) =>
  time.modelMs + time.toolsMs + time.platformMs

function checksOf({ outcome, revision }: Attempt): ReactNode {
  if (revision === null) return undefined
  if (outcome === undefined || outcome.by === null || outcome.kind === 'other') return 'Not verified'
  const tone = outcome.kind === 'passed' ? 'text-good' : outcome.kind === 'failed' ? 'text-bad' : ''
  return <span className={tone}>{countsText(outcome.by)}</span>
}

/** The work and the costs of two Sessions, row by row. */
export function AttemptFigures({ attempts }: { attempts: readonly [Attempt, Attempt] }) {
  const problem = attempts.find(each => each.problem !== null)?.problem ?? null
  return (
    <div className="max-h-[45%] shrink-0 overflow-y-auto border-b border-line">
      <table className="w-full table-fixed text-[0.8125rem]">
        <caption className="sr-only">The two Sessions</caption>
        <colgroup>
          <col className="w-28 lg:w-[15%]" />
          {/* B stands above its changes, which have half of the width. */}
          <col className="lg:w-[35%]" />
          <col />
        </colgroup>
        <thead>
          <tr className="border-b border-line bg-surface">
            <td />
            {attempts.map(({ session }, at) => (
              <th key={session.id} scope="col" className="px-3 py-2 text-left font-medium">
                <Link {...to.session(session.id)} className="flex min-w-0 gap-1.5 hover:underline">
                  <span className="text-ink-3">{at === 0 ? 'A' : 'B'}</span>
                  <span dir="auto" className="min-w-0 truncate">
                    {printableLine(session.title)}
                  </span>
                </Link>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, of]) => (
            <tr key={name} className="border-b border-line last:border-0">
              <th scope="row" className="px-3 py-1.5 text-left font-normal text-ink-3">
                {name}
              </th>
              {attempts.map(attempt => (
                <td key={attempt.session.id} className="px-3 py-1.5 [overflow-wrap:anywhere] tabular-nums">
                  {of(attempt) ?? '–'}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {problem !== null && (
        <div className="p-3">
          <InlineProblem error={problem} />
        </div>
      )}
    </div>
  )
}

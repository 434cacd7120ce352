import { type EndRow, formatDuration } from '@berth/client/transcript'
import { useQuery } from '@tanstack/react-query'
import { ChevronRight } from 'lucide-react'
import { useState } from 'react'
import { berth } from '../api/client.ts'
import { dollars } from '../ui/format.ts'
import { InlineProblem } from '../ui/states.tsx'
import { EndWayOn } from './end-way-on.tsx'
import { Figures } from './figures.tsx'

/** The step that goes on after a Run that did not finish, if it is still the newest of its Session, and the Run's figures. */
export function EndRest({ row, sessionId, goesOn }: { row: EndRow; sessionId: string; goesOn: boolean }) {
  return (
    <>
      {goesOn && <EndWayOn sessionId={sessionId} runId={row.runId} />}
      <EndFigures row={row} sessionId={sessionId} />
    </>
  )
}

/** A Run's duration and cost, and on request the parts of both. */
function EndFigures({ row, sessionId }: { row: EndRow; sessionId: string }) {
  const { runId } = row
  const [open, setOpen] = useState(false)
  const run = useQuery({
    queryKey: ['session', sessionId, 'run', runId, 'figures'],
    queryFn: async () => (await berth.call('getRun', { sessionId, runId: runId ?? '' })).run,
    enabled: open && runId !== null,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const text = figuresText(row)
  if (text === '' || runId === null) return <span className="tabular-nums">{text}</span>
  return (
    <>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex items-center gap-1 rounded tabular-nums hover:text-ink"
      >
        <ChevronRight className={`size-3 ${open ? 'rotate-90' : ''}`} aria-hidden />
        {text}
      </button>
      {open && (
        <div className="order-last basis-full">
          <div className="w-64 rounded-lg border border-line bg-raised p-3">
            <InlineProblem error={run.error} />
            {run.data !== undefined && <Figures of={run.data} />}
          </div>
        </div>
      )}
    </>
  )
}

/** Returns a Run's duration and cost; '' if neither is known. */
function figuresText({
  durationMs,
  costUsd,
  costComplete,
}: Pick<EndRow, 'durationMs' | 'costUsd' | 'costComplete'>): string {
  const cost = costUsd === null ? null : `${costComplete ? '' : 'at least '}${dollars(costUsd)}`
  return [durationMs === null ? null : formatDuration(durationMs), cost].filter(part => part !== null).join(' · ')
}

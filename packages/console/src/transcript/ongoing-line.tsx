import { formatElapsed, formatProgress, type NoticeRow } from '@berth/client/transcript'
import { LoaderCircle } from 'lucide-react'
import { useLog } from '../session/logs.ts'
import { useSecond } from '../ui/clock.ts'
import { printableLine } from '../ui/printable.ts'

/** A step of the service that goes on: for how long by now, and how far it has come if that is known. */
export function OngoingLine({ row, sessionId }: { row: NoticeRow; sessionId: string }) {
  const now = useSecond()
  const progress = useLog(sessionId, ({ preview }) => {
    const step = preview?.steps?.find(({ stepId }) => stepId === row.step)
    return step && formatProgress(step.progress)
  })
  return (
    <div className="flex items-center gap-3 py-1 text-xs text-ink-3">
      <span aria-hidden className="h-px flex-1 bg-line" />
      <span className="flex min-w-0 flex-wrap items-center justify-center gap-x-1.5">
        <LoaderCircle className="size-3.5 shrink-0 animate-spin text-accent" aria-hidden />
        {printableLine(row.text)}
        <span className="tabular-nums" role="timer">
          {formatElapsed(now - (Date.parse(row.at) || now))}
        </span>
        {progress !== undefined && <span className="tabular-nums">· {progress}</span>}
      </span>
      <span aria-hidden className="h-px flex-1 bg-line" />
    </div>
  )
}

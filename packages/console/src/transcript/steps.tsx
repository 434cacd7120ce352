import type { Step, StepsRow, ToolStep } from '@berth/client/transcript'
import { formatDuration } from '@berth/client/transcript'
import {
  Bot,
  Brain,
  ChevronRight,
  CircleAlert,
  FilePen,
  FileSearch,
  Globe,
  LoaderCircle,
  type LucideIcon,
  Search,
  SquareTerminal,
  Trash2,
  Wrench,
} from 'lucide-react'
import { lazy, memo, type ReactNode, Suspense, use, useMemo } from 'react'
import { CitedFiles } from '../files/cited-file.tsx'
import { useLog } from '../session/logs.ts'
import { counted } from '../ui/format.ts'
import { printable, printableLine } from '../ui/printable.ts'
import { useFolding, useUnfolded } from './open-rows.ts'
import { workSummary } from './work-summary.ts'

const StepDetail = lazy(async () => ({ default: (await import('./step-detail.tsx')).StepDetail }))

/** Failed calls that a folded group shows. */
const shownFailures = 2

const icons: Readonly<Record<string, LucideIcon>> = {
  read: FileSearch,
  edit: FilePen,
  delete: Trash2,
  search: Search,
  execute: SquareTerminal,
  fetch: Globe,
}

/** Tool calls and thoughts in a row: one line until it is unfolded. One alone is shown as itself. */
export const Steps = memo(function Steps({ row, scope }: { row: StepsRow; scope: string }) {
  const [unfolded, toggle] = useUnfolded(`${scope}/${row.key}`)
  const { lane, steps } = row
  const summary = useMemo(() => workSummary(steps), [steps])
  const only = row.steps.length === 1 && lane === undefined ? row.steps[0] : undefined
  if (only !== undefined) return <StepLine step={only} scope={scope} />
  const tools = row.steps.filter(step => step.kind === 'tool')
  const failures = tools.filter(step => step.status === 'failed')
  const running = tools.findLast(step => step.status === 'running')
  const totalMs = tools.reduce((sum, step) => sum + (step.durationMs ?? 0), 0)
  return (
    <div>
      <Line
        onClick={toggle}
        unfolded={unfolded}
        time={running === undefined && totalMs > 0 ? formatDuration(totalMs) : ''}
      >
        {(lane === undefined ? running !== undefined : lane.outcome === null) && (
          <LoaderCircle className="size-3.5 shrink-0 animate-spin text-accent" aria-label="Running" />
        )}
        {lane !== undefined && (
          <span className="flex min-w-0 items-center gap-1.5 font-medium">
            <Bot className="size-3.5 shrink-0" aria-label="Sub-agent" />
            <span className="truncate">{printableLine(lane.task.trim().split('\n', 1)[0] || 'Sub-agent')}</span>
            {(lane.outcome === 'failed' || lane.outcome === 'cancelled') && (
              <span className={lane.outcome === 'failed' ? 'text-bad' : 'text-ink-3'}>{lane.outcome}</span>
            )}
          </span>
        )}
        <span className="min-w-0 truncate">
          {tools.length === 0 && row.steps.length > 0 ? counted(row.steps.length, 'thought') : summary}
          {failures.length > 0 && <span className="text-bad">, {failures.length} failed</span>}
        </span>
        {running !== undefined && (
          <code className="min-w-0 flex-1 truncate font-mono text-xs text-ink-3">
            <RunningTitle step={running} scope={scope} />
          </code>
        )}
      </Line>
      {/* What went wrong is read without a press; what sub-agents tried is theirs. */}
      {!unfolded && lane === undefined && failures.length > 0 && (
        <div className="ml-[0.9375rem] border-l border-line pl-2">
          {failures.slice(-shownFailures).map(step => (
            <StepLine key={step.id} step={step} scope={scope} />
          ))}
        </div>
      )}
      {unfolded && (
        <div className="ml-[0.9375rem] border-l border-line pl-2">
          {lane !== undefined && lane.task !== '' && (
            <p className="my-1 pl-2 text-[0.8125rem] whitespace-pre-wrap [overflow-wrap:anywhere]">
              {printable(lane.task)}
            </p>
          )}
          {row.steps.map(step => (
            <StepLine key={step.id} step={step} scope={scope} />
          ))}
          {lane !== undefined && lane.summary !== '' && (
            <p className="my-1 pl-2 text-[0.8125rem] whitespace-pre-wrap text-ink-2 [overflow-wrap:anywhere]">
              {printable(lane.summary)}
            </p>
          )}
        </div>
      )}
    </div>
  )
})

/** The log has only a running call's name; the preview has its title. */
function RunningTitle({ step, scope }: { step: ToolStep; scope: string }) {
  const title = useLog(
    scope,
    ({ preview }) => preview?.activities.find(({ activityId }) => activityId === step.id)?.title,
  )
  return printableLine(title === undefined || title === '' ? step.title : title)
}

function StepLine({ step, scope }: { step: Step; scope: string }) {
  const [chosen, choose] = useFolding(`${scope}/${step.kind}/${step.id}`)
  const isShell = use(CitedFiles)?.runtime === 'shell'
  const showsEnd = step.kind === 'tool' && step.output?.trim() && (isShell || step.status === 'failed')
  const unfolded = chosen ?? Boolean(showsEnd)
  const toggle = () => choose(!unfolded)
  if (step.kind === 'thought') {
    return (
      <div>
        <Line onClick={toggle} unfolded={unfolded} time="">
          <Brain className="size-3.5 shrink-0" aria-hidden />
          <span className={unfolded ? '' : 'min-w-0 truncate'}>
            Thought{!unfolded && <span className="ml-2 text-ink-3">{printableLine(step.text).slice(0, 160)}</span>}
          </span>
        </Line>
        {unfolded && (
          <p className="mb-2 ml-[1.875rem] border-l-2 border-line-strong pl-3 text-[0.8125rem] whitespace-pre-wrap text-ink-2">
            {printable(step.text)}
          </p>
        )}
      </div>
    )
  }
  const Icon = step.status === 'failed' ? CircleAlert : (icons[step.toolKind] ?? Wrench)
  return (
    <div>
      <Line onClick={toggle} unfolded={unfolded} time={step.durationMs === null ? '' : formatDuration(step.durationMs)}>
        {step.status === 'running' ? (
          <LoaderCircle className="size-3.5 shrink-0 animate-spin text-accent" aria-label="Running" />
        ) : (
          <Icon
            className={`size-3.5 shrink-0 ${step.status === 'failed' ? 'text-bad' : ''}`}
            {...(step.status === 'failed' ? { 'aria-label': 'Failed' } : { 'aria-hidden': true })}
          />
        )}
        <code className="min-w-0 truncate font-mono text-xs">
          {step.status === 'running' ? <RunningTitle step={step} scope={scope} /> : printableLine(step.title)}
        </code>
      </Line>
      {unfolded && (
        <Suspense fallback={<div className="h-11" />}>
          <StepDetail step={step} endOnly={chosen === undefined} />
        </Suspense>
      )}
    </div>
  )
}

function Line(props: { onClick: () => void; unfolded: boolean; time: string; children: ReactNode }) {
  return (
    <button
      type="button"
      onClick={props.onClick}
      aria-expanded={props.unfolded}
      className="group flex min-h-7 w-full items-center gap-2 rounded-md px-1.5 text-left text-[0.8125rem] text-ink-2 in-data-pointed:hover:bg-hover max-lg:min-h-9"
    >
      <ChevronRight className={`size-3.5 shrink-0 text-ink-3 ${props.unfolded ? 'rotate-90' : ''}`} aria-hidden />
      {props.children}
      <span className="ml-auto shrink-0 pl-2 text-xs text-ink-3 tabular-nums">{props.time}</span>
    </button>
  )
}

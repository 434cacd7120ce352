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
import { lazy, memo, type ReactNode, Suspense } from 'react'
import { CitedFile, fileLinkClass } from '../files/cited-file.tsx'
import { citedPlace } from '../files/cited-path.ts'
import { useLog } from '../session/logs.ts'
import { counted } from '../ui/format.ts'
import { printable, printableLine } from '../ui/printable.ts'
import { useUnfolded } from './open-rows.ts'
import { TerminalText } from './terminal-text.tsx'

const LineDiff = lazy(() => import('./line-diff.tsx'))

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
  const { lane } = row
  const only = row.steps.length === 1 && lane === undefined ? row.steps[0] : undefined
  if (only !== undefined) return <StepLine step={only} scope={scope} />
  const tools = row.steps.filter(step => step.kind === 'tool')
  const failed = tools.filter(step => step.status === 'failed').length
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
          <span className="flex shrink-0 items-center gap-1.5 font-medium">
            <Bot className="size-3.5" aria-hidden /> Sub-agent
            {(lane.outcome === 'failed' || lane.outcome === 'cancelled') && (
              <span className={lane.outcome === 'failed' ? 'text-bad' : 'text-ink-3'}>{lane.outcome}</span>
            )}
          </span>
        )}
        <span className="shrink-0">{counted(row.steps.length, 'step')}</span>
        {failed > 0 && <span className="shrink-0 text-bad">{failed} failed</span>}
        <span className="min-w-0 truncate text-ink-3">
          {running === undefined ? (
            summary(tools)
          ) : (
            <code className="font-mono text-xs">
              <RunningTitle step={running} scope={scope} />
            </code>
          )}
        </span>
      </Line>
      {unfolded && (
        <div className="ml-[0.9375rem] border-l border-line pl-2">
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

/** Says which tools a group used, the most used first. */
function summary(tools: readonly ToolStep[]): string {
  const counts = new Map<string, number>()
  for (const { name } of tools) counts.set(name, (counts.get(name) ?? 0) + 1)
  const sorted = [...counts].sort(([, a], [, b]) => b - a).slice(0, 3)
  return sorted
    .map(([name, count]) => (count === 1 ? printableLine(name) : `${printableLine(name)} ×${count}`))
    .join(', ')
}

function StepLine({ step, scope }: { step: Step; scope: string }) {
  const [unfolded, toggle] = useUnfolded(`${scope}/${step.kind}/${step.id}`)
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
      {unfolded && <StepDetail step={step} />}
    </div>
  )
}

function StepDetail({ step }: { step: ToolStep }) {
  const bare = step.input === undefined && step.output === undefined && step.diff === undefined
  return (
    <div className="mb-2 ml-[1.875rem] flex min-w-0 flex-col gap-2">
      <Suspense>
        {step.diff?.map(file => (
          <LineDiff key={file.path} file={file} />
        ))}
      </Suspense>
      {step.diff === undefined &&
        namedFiles(step.input).map(path => (
          <p key={path} className="font-mono text-xs text-accent underline">
            <CitedFile text={path} className={fileLinkClass}>
              {printableLine(path)}
            </CitedFile>
          </p>
        ))}
      {step.input !== undefined && step.diff === undefined && <Block label="Input" text={inputText(step.input)} />}
      {step.output !== undefined && step.output !== '' && (
        <div className="rounded-md border border-line bg-code">
          <p className="border-b border-line px-2.5 py-1 text-2xs font-medium text-ink-3">Output</p>
          <TerminalText text={step.output} />
        </div>
      )}
      {step.truncated && <p className="text-xs text-ink-3">Cut to the size that the log keeps.</p>}
      {bare && <p className="text-xs text-ink-3">{step.status === 'running' ? 'Running…' : 'It left no output.'}</p>}
    </div>
  )
}

/** Returns the files that a call works on, by the names that agents use for such members. */
function namedFiles(input: unknown): readonly string[] {
  const named = ['path', 'file_path', 'filePath'].map(key => Reflect.get(Object(input), key) as unknown)
  return named.filter(path => typeof path === 'string').filter(path => citedPlace(path) !== null)
}

/** A command is shown as it is typed; everything else as JSON. */
function inputText(input: unknown): string {
  if (typeof input === 'string') return input
  const command: unknown = Reflect.get(Object(input), 'command')
  if (typeof command === 'string' && Object.keys(Object(input)).length === 1) return command
  return JSON.stringify(input, null, 2) ?? ''
}

function Block({ label, text }: { label: string; text: string }) {
  return (
    <div className="rounded-md border border-line bg-code">
      <p className="border-b border-line px-2.5 py-1 text-2xs font-medium text-ink-3">{label}</p>
      <pre
        tabIndex={0}
        className="max-h-72 overflow-auto px-2.5 py-2 font-mono text-xs leading-relaxed whitespace-pre-wrap"
      >
        {printable(text)}
      </pre>
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

import type { Session } from '@berth/client'
import { agentStateTypes, type BackgroundCommand, backgroundIn, backgroundLabel } from '@berth/client/transcript'
import { ChevronRight } from 'lucide-react'
import { Ago } from '../ui/dates.tsx'
import { printableLine } from '../ui/printable.ts'
import { useLastEvent } from './use-last-event.ts'

/** The commands that the agent has left running, in one line until somebody unfolds it. */
export function BackgroundList({ session }: { session: Session }) {
  const event = useLastEvent(session.id, agentStateTypes.background)
  const commands = (event === undefined ? session.background : backgroundIn(event.data)) ?? []
  const running = commands.filter(({ status }) => status === 'running')
  const [first] = running
  if (first === undefined) return null
  return (
    <details className="group rounded-lg border border-line bg-surface text-[0.8125rem]">
      <summary className="flex min-h-9 list-none items-center gap-2 rounded-lg px-3 hover:bg-hover [&::-webkit-details-marker]:hidden">
        <ChevronRight className="size-3.5 shrink-0 text-ink-3 group-open:rotate-90" aria-hidden />
        <span className="shrink-0 font-medium">In the background</span>
        <span className="shrink-0 text-ink-3 tabular-nums">{running.length} running</span>
        <code className="min-w-0 truncate font-mono text-xs text-ink-2 group-open:invisible">
          {printableLine(first.command)}
        </code>
      </summary>
      <ul className="flex max-h-[30dvh] flex-col gap-1 overflow-y-auto px-3 pb-2.5">
        {commands.map(command => (
          <Command key={command.id} command={command} />
        ))}
      </ul>
    </details>
  )
}

function Command({ command }: { command: BackgroundCommand }) {
  const isRunning = command.status === 'running'
  return (
    <li className="flex items-baseline gap-3">
      <code className={`min-w-0 flex-1 font-mono text-xs [overflow-wrap:anywhere] ${isRunning ? '' : 'text-ink-3'}`}>
        {printableLine(command.command)}
      </code>
      <span className="shrink-0 text-xs text-ink-3">
        {backgroundLabel(command)}
        {isRunning && (
          <>
            , begun <Ago at={command.startedAt} />
          </>
        )}
      </span>
    </li>
  )
}

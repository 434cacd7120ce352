import type { Session } from '@berth/client'
import { agentStateTypes, type PlanEntry, planIn, planProgress } from '@berth/client/transcript'
import { ChevronRight, CircleCheck, CircleDashed, CircleDot } from 'lucide-react'
import { printableLine } from '../ui/printable.ts'
import { useLastEvent } from './use-last-event.ts'

/** The agent's to-do list: one line until somebody unfolds it. It goes once everything is done and nobody works. */
export function TodoList({ session }: { session: Session }) {
  const event = useLastEvent(session.id, agentStateTypes.plan)
  const entries = (event === undefined ? session.plan?.entries : planIn(event.data)) ?? []
  const { done, current } = planProgress(entries)
  if (entries.length === 0 || (current === undefined && session.activeRunId === undefined)) return null
  return (
    <details className="group rounded-lg border border-line bg-surface text-[0.8125rem]">
      <summary className="flex min-h-9 list-none items-center gap-2 rounded-lg px-3 hover:bg-hover [&::-webkit-details-marker]:hidden">
        <ChevronRight className="size-3.5 shrink-0 text-ink-3 group-open:rotate-90" aria-hidden />
        <span className="shrink-0 font-medium">To do</span>
        <span className="shrink-0 text-ink-3 tabular-nums">
          {done} of {entries.length} done
        </span>
        {current !== undefined && (
          <span className="min-w-0 truncate text-ink-2 group-open:invisible">{printableLine(current.content)}</span>
        )}
      </summary>
      <ol className="flex max-h-[30dvh] flex-col gap-1 overflow-y-auto px-3 pb-2.5">
        {entries.map((entry, index) => (
          <Entry key={index} entry={entry} />
        ))}
      </ol>
    </details>
  )
}

const styles = {
  completed: { Icon: CircleCheck, icon: 'text-good', text: 'text-ink-3', word: 'Done: ' },
  in_progress: { Icon: CircleDot, icon: 'text-accent', text: 'font-medium', word: 'Now: ' },
  pending: { Icon: CircleDashed, icon: 'text-ink-3', text: '', word: '' },
}

function Entry({ entry: { content, status } }: { entry: PlanEntry }) {
  const { Icon, icon, text, word } = styles[status as keyof typeof styles] ?? styles.pending
  return (
    <li className="flex gap-2">
      <Icon className={`mt-0.5 size-3.5 shrink-0 ${icon}`} aria-hidden />
      <span className={`min-w-0 [overflow-wrap:anywhere] ${text}`}>
        {word !== '' && <span className="sr-only">{word}</span>}
        {printableLine(content)}
      </span>
    </li>
  )
}

import type { SessionState } from '@berth/contract'
import { Hand } from 'lucide-react'
import { serverNow } from '../api/server-clock.ts'
import { useSecond } from '../ui/clock.ts'
import { countdown } from '../ui/format.ts'

type Attention = NonNullable<SessionState['attention']>

const kinds: Readonly<Record<Attention['kind'], string>> = {
  approval: 'Asks to be allowed',
  ask_user: 'Asks a question',
  exit_plan_mode: 'Has a plan',
}

/** Days are no countdown. */
const countedMs = 24 * 3_600_000

/** The reason why a Session waits, and its deadline by the server's clock. */
export function Waiting({ attention: { kind, openInteractions, deadline } }: { attention: Attention }) {
  const dueAt = deadline === undefined ? null : Date.parse(deadline)
  return (
    <span className="inline-flex h-5.5 items-center gap-1.5 rounded-full bg-warning-soft px-2 text-xs font-medium whitespace-nowrap text-warning">
      <Hand className="size-3 shrink-0" aria-hidden />
      {openInteractions > 1 ? `${openInteractions} requests` : (kinds[kind] ?? 'Waits for you')}
      {dueAt !== null && dueAt - serverNow() < countedMs && <Left until={dueAt} />}
    </span>
  )
}

function Left({ until }: { until: number }) {
  const left = until - useSecond()
  return (
    <span role="timer" aria-live="off" className="tabular-nums">
      {left > 0 ? countdown(left) : 'expired'}
    </span>
  )
}

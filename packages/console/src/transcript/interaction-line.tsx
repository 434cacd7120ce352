import type { InteractionRow } from '@berth/client/transcript'
import { MessageCircleQuestion, ShieldCheck } from 'lucide-react'
import { useNameOf } from '../api/people.ts'
import { printableLine } from '../ui/printable.ts'

const resolutions: Readonly<Record<string, string>> = {
  approved: 'allowed once',
  denied: 'denied',
  always_allowed: 'allowed for this Session',
  project_allowed: 'allowed by a rule of the operator',
  turn_allowed: 'allowed for the Turn',
  timed_out: 'nobody answered in time',
  cancelled: 'withdrawn',
  workspace_lost: 'the sandbox was lost',
  session_archived: 'the Session was archived',
  run_cancelled: 'the Run was stopped',
  run_ended: 'the Run had ended',
  request_gone: 'the agent no longer waits for it',
  authority_revoked: 'whoever asked may no longer use Berth',
}

/** The agent's request, and its outcome. */
export function InteractionLine({ row }: { row: InteractionRow }) {
  const Icon = row.interactionKind === 'approval' ? ShieldCheck : MessageCircleQuestion
  const answer =
    row.status === 'open'
      ? 'waiting for an answer'
      : row.resolution === 'project_allowed' && row.decidedBy !== null
        ? 'allowed for the environment'
        : row.resolution !== null
          ? (resolutions[row.resolution] ?? row.resolution.replaceAll('_', ' '))
          : row.status === 'resolved'
            ? 'answered'
            : 'expired'
  return (
    <div className="flex min-h-7 items-center gap-2 pl-[1.875rem] text-[0.8125rem] text-ink-2">
      <Icon className={`size-3.5 shrink-0 ${row.status === 'open' ? 'text-warning' : ''}`} aria-hidden />
      <span className="min-w-0 truncate">{printableLine(row.subject.split('\n', 1)[0] ?? '')}</span>
      <span className="shrink-0 text-xs text-ink-3">
        {answer}
        {row.decidedBy !== null && <Decider {...row.decidedBy} />}
      </span>
    </div>
  )
}

function Decider(doer: { kind: string; id: string }) {
  return ` · ${printableLine(useNameOf()(doer))}`
}

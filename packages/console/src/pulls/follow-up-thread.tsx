import type { Publication, Session } from '@berth/client'
import type { FollowUp } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleAlert, CircleCheck, CircleStop, Eye, LoaderCircle, type LucideIcon, RotateCw } from 'lucide-react'
import { useState } from 'react'
import { checksQuery, mergesQuery } from '../changes/queries.ts'
import { to } from '../routing/to.ts'
import { logOf, useLog } from '../session/logs.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { dollars } from '../ui/format.ts'
import { InlineProblem } from '../ui/states.tsx'
import { FollowDialog } from './follow-dialog.tsx'
import { attemptsText, causeText, followUpText, hasEnded } from './pull-labels.ts'
import { followUpQuery } from './queries.ts'
import { useFollow } from './use-follow.ts'

const styles: Readonly<Record<string, readonly [tone: string, icon: LucideIcon]>> = {
  watching: ['text-accent', Eye],
  working: ['text-accent', LoaderCircle],
  needs_person: ['text-warning', CircleAlert],
  merged: ['text-good', CircleCheck],
  closed: ['text-ink-3', CircleStop],
  stopped: ['text-ink-3', CircleStop],
}

/** The follow-up of a pull request until it is merged: each attempt with its cause, the bounds, and a button that stops it. */
export function FollowUpThread(props: { session: Session; publication: Publication; number: number }) {
  const { session, publication, number } = props
  const can = useSessionCan(session)
  const known = useQuery(followUpQuery(session.id, publication.id))
  const { follow, stop } = useFollow(session.id, publication.id)
  const [asks, setAsks] = useState(false)
  // Both are asked for where the merge stands.
  const merges = useQuery({ ...mergesQuery(session.id, publication.id), enabled: false }).data
  const pull = useQuery({ ...checksQuery(session.id, publication.id), enabled: false }).data
  const isOpen = merges?.[0]?.status !== 'succeeded' && (pull === undefined || pull.state === 'open')
  if (known.data === undefined) return <InlineProblem error={known.error} />
  const followUp = known.data
  // A pull request that was merged before anything followed it needs nobody any more.
  if (followUp === null && !isOpen) return null
  const rests = followUp?.state === 'needs_person'
  const isOver = followUp !== null && hasEnded(followUp)
  const canResume = rests || (followUp?.state === 'stopped' && isOpen)
  const [tone, Icon] = styles[followUp?.state ?? ''] ?? ['text-ink-3', Eye]
  return (
    <section aria-label={`Follow-up of #${number}`} className="rounded-md border border-line bg-surface text-xs">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 px-2.5 py-1.5">
        <Icon
          className={`size-4 shrink-0 ${tone} ${followUp?.state === 'working' ? 'motion-safe:animate-spin' : ''}`}
          aria-hidden
        />
        <span role="status" className="min-w-0 flex-1 text-pretty text-ink-2">
          {followUp === null ? 'Nobody follows its checks and reviews.' : followUpText(followUp)}
        </span>
        <span className="ml-auto flex shrink-0 items-center gap-1.5">
          {followUp !== null && !isOver && (
            <Button verdict={can('verify')} busy={stop.isPending} className="h-7!" onClick={() => stop.mutate()}>
              <CircleStop className="size-3.5" aria-hidden /> Stop
            </Button>
          )}
          {(followUp === null || canResume || !isOver) && (
            <Button variant="quiet" verdict={can('verify')} className="h-7!" onClick={() => setAsks(true)}>
              {canResume && <RotateCw className="size-3.5" aria-hidden />}
              {followUp === null ? 'Follow it…' : canResume ? 'Try again…' : 'Bounds…'}
            </Button>
          )}
        </span>
      </div>
      {followUp !== null && <Facts followUp={followUp} />}
      {followUp !== null && followUp.history.length > 0 && <History sessionId={session.id} followUp={followUp} />}
      {!asks && (stop.error ?? known.error) !== null && (
        <div className="p-2">
          <InlineProblem error={stop.error ?? known.error} />
        </div>
      )}
      {asks && (
        <FollowDialog
          number={number}
          followUp={followUp}
          mayMerge={can('merge').allowed}
          busy={follow.isPending}
          problem={<InlineProblem error={follow.error} />}
          onFollow={request => follow.mutate(request, { onSuccess: () => setAsks(false) })}
          onClose={() => setAsks(false)}
        />
      )}
    </section>
  )
}

/** How much of its bounds a follow-up has used. */
function Facts({ followUp }: { followUp: FollowUp }) {
  const { spentUsd, budgetUsd, until, merge } = followUp
  return (
    <p className="flex flex-wrap gap-x-3 gap-y-0.5 border-t border-line px-2.5 py-1.5 text-ink-3 tabular-nums">
      <span>{attemptsText(followUp)}</span>
      <span>{budgetUsd === null ? `${dollars(spentUsd)} spent` : `${dollars(spentUsd)} of ${dollars(budgetUsd)}`}</span>
      {!hasEnded(followUp) && (
        <span>
          until{' '}
          <time dateTime={until} title={new Date(until).toLocaleString()}>
            {new Date(until).toLocaleDateString('en', { day: 'numeric', month: 'short' })}
          </time>
        </span>
      )}
      <span>{merge === 'when_ready' ? 'merges when ready' : 'never merges by itself'}</span>
    </p>
  )
}

/** The attempts with their causes, newest first; each leads to where the transcript begins with it. */
function History({ sessionId, followUp }: { sessionId: string; followUp: FollowUp }) {
  // The log may begin later than an attempt, and then there is nothing to go to.
  const last = useLog(sessionId, ({ view }) => view.last)
  const sequenceOf = (turnId: string) => {
    const found = logOf(sessionId).events.find(({ data }) => data['turnId'] === turnId)
    return found === undefined || found.sequence > last ? undefined : found.sequence
  }
  const { history, attempts } = followUp
  return (
    <ol aria-label="Attempts" reversed className="flex max-h-40 flex-col overflow-y-auto border-t border-line py-1">
      {history.map(({ turnId, cause, at, publicationId }, index) => {
        const sequence = sequenceOf(turnId)
        return (
          <li key={turnId} className="flex flex-wrap items-center gap-x-2 px-2.5 py-0.5 text-ink-2">
            <span className="text-ink-3 tabular-nums">{Math.max(1, attempts - index)}.</span>
            {sequence === undefined ? (
              <span>{causeText(cause)}</span>
            ) : (
              <Link {...to.session(sessionId, { panel: 'changes', event: sequence })} className="text-accent underline">
                {causeText(cause)}
              </Link>
            )}
            <span className="text-ink-3">
              {publicationId === undefined
                ? index === 0 && followUp.state === 'working'
                  ? 'under way'
                  : ''
                : 'pushed'}
            </span>
            <time dateTime={at} title={new Date(at).toLocaleString()} className="ml-auto text-ink-3 tabular-nums">
              {new Date(at).toLocaleString('en', {
                day: 'numeric',
                month: 'short',
                hour: '2-digit',
                minute: '2-digit',
              })}
            </time>
          </li>
        )
      })}
    </ol>
  )
}

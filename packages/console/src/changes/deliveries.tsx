import type { Publication, Session } from '@berth/client'
import { notifyManager, useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { CircleCheck, CircleX, GitMerge, GitPullRequest, LoaderCircle } from 'lucide-react'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { type SessionSearch, to } from '../routing/to.ts'
import type { Verdict } from '../session/session-can.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { Select } from '../ui/field.tsx'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { waitsFor } from './check-labels.ts'
import { Checks } from './checks.tsx'
import { deliveryReason } from './delivery-text.ts'
import { Evidence } from './evidence.tsx'
import { checksQuery, mergesQuery, publicationsQuery } from './queries.ts'
import { UpdateFromBase } from './update-from-base.tsx'

const FollowUpThread = lazy(async () => ({ default: (await import('../pulls/follow-up-thread.tsx')).FollowUpThread }))
const MergeDialog = lazy(async () => ({ default: (await import('./merge-dialog.tsx')).MergeDialog }))

/** The deliveries, newest first, and the merge of the pull request. */
export function Deliveries({ session }: { session: Session }) {
  const all = useQuery({ ...publicationsQuery(session.id), enabled: session.source !== undefined }).data ?? []
  // A failure is news until something was tried after it.
  const publications = all.filter(({ status }, at) => at === 0 || status !== 'failed')
  const { merge } = useSearch({ strict: false }) as SessionSearch
  const newest = publications.find(({ result }) => result?.pullRequest !== undefined)
  if (publications.length === 0) return null
  return (
    <ul aria-label="Deliveries" className="border-b border-line">
      {publications.map(publication => (
        <li key={publication.id} className="flex flex-col gap-2 border-b border-line px-4 py-2.5 last:border-b-0">
          <PublicationLine session={session} publication={publication} />
          <Evidence publication={publication} />
          {publication.result?.pullRequest !== undefined && (
            <MergeLine session={session} publication={publication} asks={merge === true && publication === newest} />
          )}
          {publication === newest && publication.result?.pullRequest !== undefined && (
            <Suspense>
              <FollowUpThread
                session={session}
                publication={publication}
                number={publication.result.pullRequest.number}
              />
            </Suspense>
          )}
        </li>
      ))}
    </ul>
  )
}

function PublicationLine({ session, publication }: { session: Session; publication: Publication }) {
  const { status, result, title, lastError } = publication
  const pull = result?.pullRequest
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2 text-[0.8125rem]">
      {status === 'failed' ? (
        <CircleX className="size-4 shrink-0 text-bad" aria-hidden />
      ) : status === 'succeeded' ? (
        <GitPullRequest className="size-4 shrink-0 text-good" aria-hidden />
      ) : (
        <LoaderCircle className="size-4 shrink-0 animate-spin text-accent" aria-hidden />
      )}
      {pull !== undefined && <PullLink session={session} pull={pull} />}
      <span className="min-w-0 truncate">{printableLine(title)}</span>
      {pull?.draft === true && <span className="rounded border border-line px-1.5 text-2xs text-ink-3">draft</span>}
      <span role="status" className={`text-xs ${status === 'failed' ? 'text-bad' : 'text-ink-3'}`}>
        {status === 'failed'
          ? `Not published: ${deliveryReason(lastError)}.`
          : status === 'succeeded'
            ? ''
            : 'Publishing…'}
      </span>
    </div>
  )
}

const linkClass = 'shrink-0 font-medium text-accent underline'

/** Leads to the pull request: on this page if Berth itself hosts the repository, else on its Git host. */
function PullLink({ session, pull }: { session: Session; pull: { readonly number: number; readonly url: string } }) {
  const { source } = session
  if (source?.kind === 'local') {
    return (
      <Link {...to.pull(source.repositoryId, pull.number, { session: session.id })} className={linkClass}>
        #{pull.number}
      </Link>
    )
  }
  return (
    <a href={pull.url} target="_blank" rel="noopener noreferrer nofollow" className={linkClass}>
      #{pull.number}
    </a>
  )
}

const strategies = [
  ['squash', 'Squash and merge'],
  ['merge', 'Merge commit'],
  ['rebase', 'Rebase and merge'],
] as const

/** @param props `asks` for whether to merge, as soon as that can be told */
function MergeLine(props: { session: Session; publication: Publication; asks: boolean }) {
  const { session, publication, asks } = props
  const navigate = useNavigate()
  const verdict = useSessionCan(session)('merge')
  const merges = useQuery(mergesQuery(session.id, publication.id)).data
  const [strategy, setStrategy] = useState<(typeof strategies)[number][0]>('squash')
  const [confirming, ask] = useState<'immediate' | 'when_ready' | null>(null)
  const id = useRef(crypto.randomUUID())
  const merge = useMutation({
    mutationFn: (mode: 'immediate' | 'when_ready') =>
      berth.call('createMerge', {
        sessionId: session.id,
        publicationId: publication.id,
        mergeId: id.current,
        body: { strategy, mode },
      }),
    onSuccess: async () => {
      id.current = crypto.randomUUID()
      await queryClient.invalidateQueries({ queryKey: mergesQuery(session.id, publication.id).queryKey })
      // Behind the render with the new state: the focus is not given back to a button that is about to go.
      notifyManager.schedule(() => ask(null))
    },
  })
  const isMerged = merges?.[0]?.status === 'succeeded'
  const checks = useQuery({ ...checksQuery(session.id, publication.id), enabled: merges !== undefined && !isMerged })
  const known = checks.data
  const latest = merges?.[0]
  const waits = known?.state === 'open' ? waitsFor(known.checks, known.blockers) : []
  const isBlocked = waits.length > 0 && known !== undefined && known.blockers.length > 0
  const pending = latest !== undefined && latest.status !== 'failed'
  const canAsk = verdict.allowed && !pending && (known === undefined || known.state === 'open')
  const isKnown = merges !== undefined && !checks.isLoading
  useEffect(() => {
    if (!asks || !isKnown) return
    void navigate({ to: '.', search: before => ({ ...before, merge: undefined }), replace: true })
    if (canAsk) ask(isBlocked ? 'when_ready' : 'immediate')
  }, [asks, isKnown, canAsk, isBlocked, navigate])
  if (merges === undefined) return null
  if (latest?.status === 'succeeded') {
    return (
      <p className="flex items-center gap-2 text-[0.8125rem]">
        <CircleCheck className="size-4 text-good" aria-hidden /> Merged as
        <code className="font-mono text-xs">{latest.mergedCommitSha?.slice(0, 8)}</code>
      </p>
    )
  }
  // A command of ours is not the only way: somebody may have merged or closed it at the host.
  if (known?.state === 'merged' || (known?.state === 'closed' && latest === undefined)) {
    return (
      <p className="flex items-center gap-2 text-[0.8125rem] text-ink-2">
        <CircleCheck className="size-4 text-good" aria-hidden />
        {known.state === 'merged' ? 'Merged at its Git host.' : 'Closed at its Git host, without a merge.'}
      </p>
    )
  }
  const now: Verdict =
    verdict.allowed && isBlocked
      ? { allowed: false, reason: waits.join(' ') }
      : verdict.allowed && known?.state === 'closed'
        ? { allowed: false, reason: 'The pull request was closed.' }
        : verdict
  return (
    <div className="flex flex-col gap-2">
      {latest !== undefined && (
        <p role="status" className={`text-xs ${latest.status === 'failed' ? 'text-bad' : 'text-ink-2'}`}>
          {latest.status === 'failed'
            ? `Not merged: ${deliveryReason(latest.lastError)}.`
            : latest.status === 'waiting'
              ? `Merges when it is ready. ${waits.length > 0 ? waits.join(' ') : `Waits: ${deliveryReason(latest.lastError)}.`}`
              : 'Merging…'}
        </p>
      )}
      {known?.state === 'open' && <Checks checks={known.checks} />}
      {known?.known === false && (
        <p className="text-xs text-ink-3">
          The Git host does not let Berth read checks; it still holds the merge back.
        </p>
      )}
      <InlineProblem error={checks.error} />
      {confirming !== null && !pending && (
        <Suspense>
          <MergeDialog
            publication={publication}
            sessionId={session.id}
            strategy={strategies.find(([value]) => value === strategy)?.[1] ?? strategy}
            whenReady={confirming === 'when_ready'}
            busy={merge.isPending}
            problem={<InlineProblem error={merge.error} />}
            onMerge={() => merge.mutate(confirming)}
            onClose={() => ask(null)}
          />
        </Suspense>
      )}
      {!pending && (
        <div className="flex flex-wrap items-center gap-1.5">
          {/* On a phone the three share a line: the choice gives way, and shows its text when it is opened. */}
          <div className="flex min-w-0 items-center gap-1.5 max-sm:w-full">
            <Select
              aria-label="How to merge"
              value={strategy}
              onChange={event => setStrategy(event.target.value as typeof strategy)}
              className="w-auto! max-sm:min-w-0 max-sm:flex-1 max-sm:pl-2"
            >
              {strategies.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </Select>
            <Button verdict={now} variant="primary" onClick={() => ask('immediate')} className="shrink-0 max-sm:px-2.5">
              <GitMerge className="size-4 max-sm:hidden" aria-hidden /> Merge…
            </Button>
            <Button verdict={verdict} onClick={() => ask('when_ready')} className="shrink-0 max-sm:px-2.5">
              Merge when ready…
            </Button>
          </div>
          {known?.state === 'open' && session.source !== undefined && (
            <UpdateFromBase session={session} base={session.source.baseBranch} />
          )}
          {waits.length > 0 && <span className="text-xs text-warning">{waits.join(' ')}</span>}
        </div>
      )}
    </div>
  )
}

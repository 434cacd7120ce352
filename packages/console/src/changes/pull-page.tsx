import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowRight, CircleAlert, CircleCheck, GitMerge, GitPullRequest, GitPullRequestClosed } from 'lucide-react'
import { to } from '../routing/to.ts'
import { Markdown } from '../transcript/markdown.tsx'
import { Page, Title } from '../ui/page.tsx'
import { printableLine } from '../ui/printable.ts'
import { waitsFor } from './check-labels.ts'
import { Checks } from './checks.tsx'
import { bodyOf } from './pull-body.ts'
import { PullReviews } from './pull-reviews.tsx'
import { localPullQuery } from './queries.ts'

const route = getRouteApi('/shell/pulls/$repositoryId/$number')

const states: Readonly<Record<string, readonly [word: string, tone: string, icon: typeof GitMerge]>> = {
  open: ['Open', 'border-line-strong bg-good-soft text-good', GitPullRequest],
  merged: ['Merged', 'border-line-strong bg-accent-soft text-accent', GitMerge],
  closed: ['Closed', 'border-bad-line bg-bad-soft text-bad', GitPullRequestClosed],
}

/** A pull request of a repository that Berth itself hosts. */
export function PullPage() {
  const { repositoryId, number } = route.useParams()
  const { session: linked } = route.useSearch()
  const pull = useSuspenseQuery(localPullQuery(repositoryId, number)).data
  // A Session's own branch names it, so that a link from elsewhere leads back as well.
  const session = linked ?? /^svc\/([0-9a-f-]{36})$/.exec(pull.headBranch)?.[1]
  const [word, tone, Icon] = states[pull.state] ?? [pull.state, 'border-line-strong text-ink-2', GitPullRequest]
  return (
    <Page
      title={`#${pull.number} ${printableLine(pull.title)}`}
      actions={
        session !== undefined && (
          <Link {...to.session(session, { panel: 'changes' })} className="text-[0.8125rem] text-accent underline">
            Its Session
          </Link>
        )
      }
    >
      <Title>{`#${pull.number} ${pull.title}`}</Title>
      <div className="flex flex-col gap-5">
        <div className="flex flex-wrap items-center gap-2.5 text-[0.8125rem]">
          <span className={`inline-flex items-center gap-1.5 rounded-full border px-2.5 py-0.5 font-medium ${tone}`}>
            <Icon className="size-4" aria-hidden /> {word}
          </span>
          {pull.draft && <span className="rounded border border-line px-1.5 text-2xs text-ink-3">draft</span>}
          <code className="rounded bg-code px-1.5 py-0.5 font-mono text-xs wrap-anywhere">
            {printableLine(pull.headBranch)}
          </code>
          <ArrowRight className="size-4 text-ink-3" aria-label="into" />
          <code className="rounded bg-code px-1.5 py-0.5 font-mono text-xs wrap-anywhere">
            {printableLine(pull.baseBranch)}
          </code>
          <span className="text-ink-3">
            at <code className="font-mono text-xs">{pull.headOid.slice(0, 12)}</code>
          </span>
        </div>
        <section aria-label="Merging" className="rounded-lg border border-line">
          {pull.state === 'merged' ? (
            <p className="flex items-center gap-2 px-3 py-2.5 text-[0.8125rem]">
              <CircleCheck className="size-4 shrink-0 text-good" aria-hidden /> Merged as{' '}
              <code className="font-mono text-xs">{pull.mergeCommitOid?.slice(0, 12)}</code>
            </p>
          ) : pull.state !== 'open' ? (
            <p className="px-3 py-2.5 text-[0.8125rem] text-ink-2">Closed without a merge.</p>
          ) : pull.blockers.length === 0 ? (
            <p className="flex items-center gap-2 px-3 py-2.5 text-[0.8125rem]">
              <CircleCheck className="size-4 shrink-0 text-good" aria-hidden /> Ready to be merged from its Session.
            </p>
          ) : (
            <ul className="divide-y divide-line">
              {waitsFor(pull.checks, pull.blockers).map(reason => (
                <li key={reason} className="flex items-center gap-2 px-3 py-2.5 text-[0.8125rem]">
                  <CircleAlert className="size-4 shrink-0 text-warning" aria-hidden /> {reason}
                </li>
              ))}
            </ul>
          )}
        </section>
        <Checks checks={pull.checks} />
        {bodyOf(pull).trim() !== '' && (
          <section aria-label="Description" className="rounded-lg border border-line px-4 py-3">
            <Markdown text={bodyOf(pull)} />
          </section>
        )}
        <PullReviews pull={pull} repositoryId={repositoryId} />
      </div>
    </Page>
  )
}

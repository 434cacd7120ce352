import type { AuditEntry } from '@berth/contract'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { Download, ScrollText, SearchX } from 'lucide-react'
import { SectionPage } from '../organization/section-page.tsx'
import { type AuditSearch, to } from '../routing/to.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { useMinute } from '../ui/clock.ts'
import { ago } from '../ui/format.ts'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { AuditFilters } from './audit-filters.tsx'
import { actionLabel, actorName, detailRows, targetLabel } from './audit-labels.ts'
import { auditQuery, saveAudit } from './queries.ts'

const route = getRouteApi('/shell/organization/audit')

/** The organization's audit log. */
export function AuditPage() {
  const search = route.useSearch()
  const save = useMutation({ mutationFn: () => saveAudit(search) })
  return (
    <SectionPage
      title="Audit log"
      needs="administrator"
      actions={
        <Button busy={save.isPending} onClick={() => save.mutate()}>
          <Download className="size-4" aria-hidden /> Export
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <InlineProblem error={save.error} />
        <Elsewhere />
        <AuditFilters search={search} />
        <Entries search={search} />
      </div>
    </SectionPage>
  )
}

/** Says where the rest of the log is, if accounts are kept by another service. */
function Elsewhere() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const { accountsAt } = viewer.features
  if (accountsAt === undefined) return null
  return (
    <p className="text-ink-2">
      Sign-ins, people, roles and keys are in the log of{' '}
      <a className="underline" href={accountsAt}>
        the account service
      </a>
      .
    </p>
  )
}

function Entries({ search }: { search: AuditSearch }) {
  const list = useInfiniteQuery(auditQuery(search))
  if (list.isPending) return <LoadingLines lines={8} label="the audit log" />
  if (list.data === undefined) return <ErrorState error={list.error} retry={() => void list.refetch()} />
  const entries = list.data.pages.flatMap(page => page.entries)
  if (entries.length === 0) return <Nothing filtered={Object.keys(search).length > 0} />
  return (
    <>
      <ol
        aria-label="Entries"
        aria-busy={list.isPlaceholderData}
        className={`border-t border-line ${list.isPlaceholderData ? 'opacity-60' : ''}`}
      >
        {entries.map(entry => (
          <Entry key={entry.id} entry={entry} />
        ))}
      </ol>
      <InlineProblem error={list.error} />
      {list.hasNextPage && (
        <div className="flex justify-center">
          <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Older entries
          </Button>
        </div>
      )}
    </>
  )
}

const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' })

function Entry({ entry }: { entry: AuditEntry }) {
  const now = useMinute()
  const at = Date.parse(entry.at)
  const facts = [
    ['Time', `${exact.format(at)} UTC`],
    ['Action', entry.action],
    ['Actor', `${entry.actor.kind}${entry.actor.id === null ? '' : ` ${entry.actor.id}`}`],
    ...(entry.target === null ? [] : [['Target', entry.target]]),
    ...(entry.address === null ? [] : [['Address', entry.address]]),
    ...detailRows(entry.details),
  ]
  return (
    <li className="border-b border-line">
      <details className="group">
        <summary className="flex min-h-11 list-none flex-wrap items-center gap-x-3 gap-y-0.5 px-1 py-2 text-[0.8125rem] -outline-offset-2 hover:bg-surface [&::-webkit-details-marker]:hidden">
          <span className="min-w-0 flex-1 truncate">
            <span className="font-medium">{actionLabel(entry.action)}</span>{' '}
            <span className="text-ink-2">{targetLabel(entry)}</span>
          </span>
          {entry.outcome === 'refused' && (
            <span className="rounded-full bg-bad-soft px-2 py-0.5 text-2xs font-medium text-bad">Refused</span>
          )}
          <span className="truncate text-xs text-ink-2 max-sm:order-last max-sm:w-full">
            by {actorName(entry.actor)}
          </span>
          <time
            dateTime={entry.at}
            title={`${exact.format(at)} UTC`}
            className="w-13 shrink-0 text-right text-xs text-ink-3 tabular-nums"
          >
            {ago(at, now)}
          </time>
        </summary>
        <dl className="mb-3 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 rounded-lg bg-code px-3 py-2 text-xs">
          {facts.map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-ink-3">{name}</dt>
              <dd className="font-mono break-words whitespace-pre-wrap">{value}</dd>
            </div>
          ))}
        </dl>
      </details>
    </li>
  )
}

function Nothing({ filtered }: { filtered: boolean }) {
  if (!filtered) {
    return (
      <EmptyState icon={ScrollText} title="Nothing has happened yet">
        Sign-ins, members, keys, apps, webhooks and connections leave an entry here, with who and from where.
      </EmptyState>
    )
  }
  return (
    <EmptyState
      icon={SearchX}
      title="No entry matches"
      action={
        <Link {...to.audit()} className={buttonClass()}>
          Show all
        </Link>
      }
    >
      Try other days or another actor. Entries are forgotten when the deployment says so.
    </EmptyState>
  )
}

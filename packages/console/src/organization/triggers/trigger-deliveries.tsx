import type { TriggerDelivery } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { to } from '../../routing/to.ts'
import { Ago } from '../../ui/dates.tsx'
import { ErrorState, LoadingLines } from '../../ui/states.tsx'
import { Part } from '../access/facts.tsx'
import { triggerDeliveriesQuery } from './queries.ts'
import { statusLabel, troubleOf } from './trigger-labels.ts'

/** The latest deliveries of a trigger, each with its outcome. */
export function TriggerDeliveries({ organizationId, triggerId }: { organizationId: string; triggerId: string }) {
  const list = useQuery(triggerDeliveriesQuery(organizationId, triggerId))
  return (
    <Part id="deliveries" title="Deliveries" hint="The latest ones. Those that have ended are kept for 30 days.">
      {list.isPending && <LoadingLines label="deliveries" lines={4} />}
      {list.isError && list.data === undefined && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      {list.data?.length === 0 && (
        <p className="rounded-md border border-dashed border-line-strong px-4 py-6 text-center text-[0.8125rem] text-ink-2">
          Nothing has fired it yet.
        </p>
      )}
      <ul className="flex flex-col divide-y divide-line border-y border-line empty:hidden">
        {list.data?.map(delivery => (
          <Delivery key={delivery.key} delivery={delivery} />
        ))}
      </ul>
    </Part>
  )
}

function Delivery({ delivery }: { delivery: TriggerDelivery }) {
  const { key, status, sessionId, thread, createdAt, report, publication } = delivery
  const [label, dot] = statusLabel[status] ?? [status, 'bg-dot-quiet']
  const trouble = troubleOf(delivery)
  return (
    <li className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 py-2 text-[0.8125rem]">
      <span className="flex w-24 shrink-0 items-center gap-2">
        <span className={`dot ${dot}`} aria-hidden />
        {label}
      </span>
      <span className="min-w-0 flex-1">
        <code className="block truncate font-mono text-xs" title={key}>
          {thread ?? key}
        </code>
        {trouble !== null && <span className="block text-xs text-bad">{trouble}</span>}
      </span>
      <span className="flex gap-3">
        {status === 'admitted' && (
          <Link {...to.session(sessionId)} className="text-accent hover:underline">
            Session
          </Link>
        )}
        {publication?.pullRequest !== undefined && (
          <a
            href={publication.pullRequest.url}
            rel="noreferrer"
            target="_blank"
            className="text-accent hover:underline"
          >
            #{publication.pullRequest.number}
          </a>
        )}
        {report?.commentUrl !== undefined && (
          <a href={report.commentUrl} rel="noreferrer" target="_blank" className="text-accent hover:underline">
            Comment
          </a>
        )}
      </span>
      <span className="w-20 shrink-0 text-right text-xs text-ink-3 tabular-nums">
        <Ago at={createdAt} />
      </span>
    </li>
  )
}

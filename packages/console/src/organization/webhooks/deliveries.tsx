import { formatDuration } from '@berth/client/transcript'
import type { WebhookDelivery, WebhookEndpoint } from '@berth/contract'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { ChevronRight, RotateCw } from 'lucide-react'
import { call } from '../../api/client.ts'
import { type DeliveryStatus, deliveryStatuses, type Listing, to } from '../../routing/to.ts'
import { Button } from '../../ui/button.tsx'
import { Ago } from '../../ui/dates.tsx'
import { Select } from '../../ui/field.tsx'
import { useListingSearch } from '../../ui/listing.tsx'
import { ErrorState, InlineProblem, LoadingLines } from '../../ui/states.tsx'
import { Part } from '../access/facts.tsx'
import { useOrganizationCan } from '../organization-can.ts'
import { deliveriesQuery, type Place, refreshWebhooks, webhooksPath } from './queries.ts'
import { isAccepted, outcomeLabel } from './webhook-labels.ts'

const statusLabel: Readonly<Record<string, readonly [label: string, dot: string]>> = {
  pending: ['Under way', 'bg-dot-active'],
  succeeded: ['Delivered', 'bg-dot-good'],
  failed: ['Failed', 'bg-bad'],
}

interface Of {
  readonly organizationId: string
  readonly place: Place
  readonly endpoint: WebhookEndpoint
}

/** The log of an endpoint: each delivery with its attempts, and the way to send it again. */
export function Deliveries({ organizationId, place, endpoint }: Of) {
  const { status } = useSearch({ strict: false }) as Listing
  const [, change] = useListingSearch()
  const list = useInfiniteQuery(deliveriesQuery(organizationId, place, endpoint.id, status))
  const deliveries = list.data?.pages.flatMap(page => page.deliveries) ?? []
  return (
    <Part
      id="deliveries"
      title="Deliveries"
      hint="Six attempts over half an hour. Delivered ones are kept for 7 days, failed ones for 30."
      actions={
        <Select
          aria-label="State of deliveries"
          value={status ?? ''}
          className="!w-auto"
          onChange={event => change({ status: (event.target.value || undefined) as DeliveryStatus | undefined })}
        >
          <option value="">Every state</option>
          {deliveryStatuses.map(name => (
            <option key={name} value={name}>
              {statusLabel[name]?.[0]}
            </option>
          ))}
        </Select>
      }
    >
      {list.isPending && <LoadingLines label="deliveries" lines={4} />}
      {list.isError && list.data === undefined && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      {list.isSuccess && deliveries.length === 0 && (
        <p className="rounded-md border border-dashed border-line-strong px-4 py-6 text-center text-[0.8125rem] text-ink-2">
          {status === undefined ? 'Nothing was sent yet. Send a test to see one.' : 'No delivery is in this state.'}
        </p>
      )}
      <ul className="flex flex-col divide-y divide-line border-y border-line empty:hidden">
        {deliveries.map(delivery => (
          <Delivery key={delivery.id} {...{ organizationId, place, endpoint, delivery }} />
        ))}
      </ul>
      {list.hasNextPage && (
        <div className="flex justify-center">
          <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Older deliveries
          </Button>
        </div>
      )}
    </Part>
  )
}

function Delivery(props: Of & { delivery: WebhookDelivery }) {
  const { organizationId, place, endpoint, delivery } = props
  const { id, type, sessionId, sequence, status, attempts, nextAttemptAt } = delivery
  const can = useOrganizationCan()
  const again = useMutation({
    mutationFn: () => call('POST', `${webhooksPath(place)}/${endpoint.id}/deliveries/${id}/redeliver`),
    onSuccess: () => refreshWebhooks(organizationId),
  })
  const [label = status, dot = 'bg-dot-quiet'] = statusLabel[status] ?? []
  const last = attempts.at(-1)
  return (
    <li>
      <details className="group">
        <summary
          data-list-item
          className="flex min-h-11 list-none items-center gap-3 rounded-sm py-1.5 text-[0.8125rem] hover:bg-surface [&::-webkit-details-marker]:hidden"
        >
          <ChevronRight className="size-3.5 shrink-0 text-ink-3 group-open:rotate-90" aria-hidden />
          <span className="flex w-24 shrink-0 items-center gap-2">
            <span className={`dot ${dot}`} aria-hidden />
            {label}
          </span>
          <code className="min-w-0 flex-1 truncate font-mono text-xs">{type}</code>
          {last !== undefined && (
            <span className={`max-sm:hidden ${isAccepted(last) ? 'text-ink-3' : 'text-bad'}`}>
              {outcomeLabel(last)}
            </span>
          )}
          <span className="w-20 shrink-0 text-right text-xs text-ink-3 tabular-nums">
            {last === undefined ? 'waits' : <Ago at={last.at} />}
          </span>
        </summary>
        <div className="flex flex-col gap-3 pt-1.5 pb-4 pl-6.5">
          <ol className="flex flex-col gap-1 text-[0.8125rem]">
            {attempts.map(attempt => (
              <li key={attempt.at} className="flex flex-wrap gap-x-3">
                <time dateTime={attempt.at} className="w-44 shrink-0 text-ink-3 tabular-nums">
                  {new Date(attempt.at).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'medium' })}
                </time>
                <span className={isAccepted(attempt) ? 'text-good' : 'text-bad'}>{outcomeLabel(attempt)}</span>
                <span className="text-ink-3 tabular-nums">{formatDuration(attempt.durationMs)}</span>
              </li>
            ))}
            {attempts.length === 0 && <li className="text-ink-3">No attempt yet.</li>}
          </ol>
          {nextAttemptAt !== undefined && attempts.length > 0 && (
            <p className="text-xs text-ink-3">
              Next attempt at {new Date(nextAttemptAt).toLocaleTimeString('en', { timeStyle: 'medium' })}.
            </p>
          )}
          <dl className="grid grid-cols-[5.5rem_minmax(0,1fr)] gap-y-1 text-xs">
            <dt className="text-ink-3">Event id</dt>
            <dd className="font-mono [overflow-wrap:anywhere]">{delivery.eventId}</dd>
            {sessionId !== undefined && (
              <>
                <dt className="text-ink-3">Session</dt>
                <dd>
                  <Link
                    {...to.session(sessionId, sequence === undefined ? {} : { event: sequence })}
                    className="font-mono text-accent [overflow-wrap:anywhere] hover:underline"
                  >
                    {sessionId}
                    {sequence !== undefined && ` #${sequence}`}
                  </Link>
                </dd>
              </>
            )}
          </dl>
          <InlineProblem error={again.error} />
          <div>
            <Button
              busy={again.isPending}
              verdict={can('redeliver', { underWay: status === 'pending' })}
              onClick={() => again.mutate()}
            >
              <RotateCw className="size-4" aria-hidden /> Send again
            </Button>
          </div>
        </div>
      </details>
    </li>
  )
}

import type { EgressHost, Session } from '@berth/client'
import { formatBytes } from '@berth/client/transcript'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { berth } from '../api/client.ts'
import { printableLine } from '../ui/printable.ts'
import { type Column, Table } from '../ui/table.tsx'

/** The worker records every ten seconds which hosts a sandbox reached. */
const againMs = 10_000

const egressQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['session', sessionId, 'egress'],
    queryFn: ({ signal }) => berth.call('getSessionEgress', { sessionId }, { signal }),
  })

const counted = (count: number, noun: string) => `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`

const columns: readonly Column<EgressHost>[] = [
  {
    id: 'host',
    header: 'Host',
    cell: ({ host, port, secrets }) => (
      <span className="flex flex-col">
        <span className="truncate">
          {printableLine(host)}
          {port !== 443 && <span className="text-ink-3">:{port}</span>}
        </span>
        {secrets.map(({ name, uses }) => (
          <span key={name} className="truncate text-xs text-ink-3">
            {printableLine(name)}, {counted(uses, 'use')}
          </span>
        ))}
      </span>
    ),
  },
  { id: 'reached', header: 'Reached', className: 'tabular-nums', cell: ({ reached }) => reached.toLocaleString('en') },
  {
    id: 'refused',
    header: 'Refused',
    className: 'tabular-nums',
    cell: ({ refused, lastReason }) => (
      <span className={refused > 0 ? 'text-warning' : 'text-ink-3'} title={lastReason?.replaceAll('_', ' ')}>
        {refused.toLocaleString('en')}
      </span>
    ),
  },
  {
    id: 'bytes',
    header: 'Sent / received',
    className: 'tabular-nums max-sm:hidden',
    cell: ({ sentBytes, receivedBytes }) => `${formatBytes(sentBytes)} / ${formatBytes(receivedBytes)}`,
  },
]

/** The hosts that the sandboxes of a Session reached, or were refused. */
export function Egress({ session }: { session: Pick<Session, 'id' | 'activeRunId'> }) {
  const isActive = session.activeRunId !== undefined
  const { data } = useQuery({ ...egressQuery(session.id), refetchInterval: isActive ? againMs : false })
  if (data === undefined || data.hosts.length === 0) return null
  return (
    <section aria-labelledby="network" className="flex flex-col gap-2">
      <h2 id="network" className="text-sm font-semibold">
        Network
      </h2>
      <Table
        label="Hosts of the sandbox"
        columns={columns}
        rows={data.hosts}
        keyOf={({ host, port }) => `${host}:${port}`}
      />
      {data.others !== undefined && (
        <p className="text-xs text-ink-3">
          Further hosts: {counted(data.others.reached, 'connection')}, {data.others.refused.toLocaleString('en')}{' '}
          refused.
        </p>
      )}
    </section>
  )
}

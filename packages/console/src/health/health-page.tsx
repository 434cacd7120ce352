import type { Health } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleCheck, OctagonAlert, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { Badge } from '../environments/badge.tsx'
import { SectionPage } from '../organization/section-page.tsx'
import { to } from '../routing/to.ts'
import { useMinute } from '../ui/clock.ts'
import { ago, clockTime, counted } from '../ui/format.ts'
import { printableLine } from '../ui/printable.ts'
import { Stat, Stats } from '../ui/stat.tsx'
import { ErrorState, LoadingLines } from '../ui/states.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { backlogName, judge, type Tone } from './health-labels.ts'
import { healthQuery } from './queries.ts'

/** Whether the service works for the organization. */
export function HealthPage() {
  return (
    <SectionPage title="Health" needs="administrator" reading>
      <Now />
    </SectionPage>
  )
}

function Now() {
  const health = useQuery(healthQuery)
  const now = useMinute()
  if (health.isPending) return <LoadingLines lines={8} label="the health" />
  if (health.data === undefined) return <ErrorState error={health.error} retry={() => void health.refetch()} />
  const { runs, ended, hosts, leases, liveLeases, backlogs, models } = health.data
  const { tone, text } = judge(health.data, now)
  const wrong = ended.failed + ended.crashed
  return (
    <div className="flex flex-col gap-8">
      <p role="status" className={`flex items-center gap-2.5 rounded-xl border px-4 py-3 font-medium ${frames[tone]}`}>
        {icons[tone]} {health.error === null ? text : 'These numbers are old: Berth does not answer now.'}
        {wrong > 0 && (
          <Link
            {...to.sessions({ state: 'failed', everyone: true })}
            className="ml-auto text-[0.8125rem] whitespace-nowrap underline"
          >
            Show what failed
          </Link>
        )}
      </p>
      <Stats>
        <Stat
          name="Working"
          value={(runs.running + runs.dispatching).toLocaleString('en')}
          about={`${runs.awaiting.toLocaleString('en')} wait for people`}
        />
        <Stat
          name="In the queue"
          value={runs.queued.toLocaleString('en')}
          about={
            runs.oldest[0] === undefined ? 'Nothing waits' : `Oldest: ${ago(Date.parse(runs.oldest[0].queuedAt), now)}`
          }
          tone={tone === 'warning' && runs.queued > 0 ? 'warning' : 'plain'}
        />
        <Stat
          name="Ended today"
          value={(ended.completed + ended.cancelled + wrong).toLocaleString('en')}
          about={`${wrong.toLocaleString('en')} failed or crashed, in 24 hours`}
        />
        <Stat
          name="Model requests"
          value={models.requests.toLocaleString('en')}
          about={`${models.failed.toLocaleString('en')} failed, in the last hour`}
          tone={models.failed * 2 > models.requests ? 'bad' : 'plain'}
        />
      </Stats>
      <Part title="Hosts" about="Machines that run sandboxes, for every organization of this deployment.">
        {hosts.length === 0 ? (
          <Nothing>No worker has announced itself this week.</Nothing>
        ) : (
          <Table
            label="Hosts"
            columns={hostColumns(now)}
            rows={hosts}
            keyOf={({ name, seenAt }) => `${name} ${seenAt}`}
          />
        )}
      </Part>
      {runs.oldest.length > 0 && (
        <Part title="Queue" about="Runs that wait for a host, the oldest first.">
          <Table label="Queue" columns={queueColumns(now)} rows={runs.oldest} keyOf={({ sessionId }) => sessionId} />
        </Part>
      )}
      <Part
        title="Sandboxes"
        about={
          liveLeases > leases.length
            ? `The newest ${leases.length} of ${counted(liveLeases, 'live sandbox', 'live sandboxes')}.`
            : 'Live sandboxes of your Sessions.'
        }
      >
        {leases.length === 0 ? (
          <Nothing>No Session holds a sandbox now. The next turn starts one.</Nothing>
        ) : (
          <Table label="Sandboxes" columns={leaseColumns(now)} rows={leases} keyOf={({ sessionId }) => sessionId} />
        )}
      </Part>
      <Part title="Other work" about="What waits for a worker, a Git host or somebody else's server.">
        <dl className="border-t border-line text-[0.8125rem]">
          {backlogs.map(({ kind, waiting, oldestAt }) => (
            <div key={kind} className="flex items-center justify-between gap-4 border-b border-line py-2.5">
              <dt>{backlogName(kind)}</dt>
              <dd className="text-ink-2 tabular-nums">
                {waiting === 0 ? 'None' : waiting.toLocaleString('en')}
                {oldestAt !== null && (
                  <span className="ml-2 text-xs text-ink-3">oldest {ago(Date.parse(oldestAt), now)}</span>
                )}
              </dd>
            </div>
          ))}
        </dl>
      </Part>
    </div>
  )
}

const frames: Readonly<Record<Tone, string>> = {
  plain: 'border-line bg-good-soft text-good',
  warning: 'border-warning-line bg-warning-soft text-warning',
  bad: 'border-bad-line bg-bad-soft text-bad',
}

const icons: Readonly<Record<Tone, ReactNode>> = {
  plain: <CircleCheck className="size-4.5 shrink-0" aria-hidden />,
  warning: <TriangleAlert className="size-4.5 shrink-0" aria-hidden />,
  bad: <OctagonAlert className="size-4.5 shrink-0" aria-hidden />,
}

function Part({ title, about, children }: { title: string; about: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <h2 className="text-sm font-semibold">{title}</h2>
      <p className="text-xs text-ink-3">{about}</p>
      {children}
    </section>
  )
}

function Nothing({ children }: { children: string }) {
  return <p className="border-y border-line py-4 text-ink-2">{children}</p>
}

const hostColumns = (now: number): readonly Column<Health['hosts'][number]>[] => [
  {
    id: 'host',
    header: 'Host',
    cell: ({ name, packagesFault }) => (
      <span className="flex flex-col">
        <span className="truncate font-medium">{name}</span>
        {packagesFault !== null && <span className="text-xs text-ink-3">No system packages: {packagesFault}</span>}
      </span>
    ),
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ away, seenAt, restsUntil }) =>
      away ? (
        <Badge tone="warning">Away for {ago(Date.parse(seenAt), now)}</Badge>
      ) : restsUntil !== null ? (
        <Badge tone="warning">Rests until {clockTime(restsUntil)}</Badge>
      ) : (
        <Badge tone="quiet">At work</Badge>
      ),
  },
  {
    id: 'runtimes',
    header: 'Installed runtimes',
    className: 'max-md:hidden',
    cell: ({ runtimes }) => <span className="text-ink-2">{runtimes.join(', ') || 'Only built-in ones'}</span>,
  },
  {
    id: 'leases',
    header: 'Sandboxes',
    className: 'text-right!',
    cell: ({ leases }) => <span className="tabular-nums">{leases.toLocaleString('en')}</span>,
  },
]

function SessionLink({ sessionId, title }: { sessionId: string; title: string }) {
  return (
    <Link {...to.session(sessionId)} className="block truncate hover:text-accent hover:underline">
      {printableLine(title)}
    </Link>
  )
}

const queueColumns = (now: number): readonly Column<Health['runs']['oldest'][number]>[] => [
  { id: 'session', header: 'Session', cell: run => <SessionLink {...run} /> },
  {
    id: 'waits',
    header: 'Waiting',
    className: 'text-right!',
    cell: ({ queuedAt }) => <span className="tabular-nums">{ago(Date.parse(queuedAt), now)}</span>,
  },
]

const leaseColumns = (now: number): readonly Column<Health['leases'][number]>[] => [
  { id: 'session', header: 'Session', cell: lease => <SessionLink {...lease} /> },
  {
    id: 'state',
    header: 'State',
    cell: ({ state, working }) =>
      state === 'creating' ? (
        <Badge tone="accent">Starting</Badge>
      ) : (
        <Badge tone={working ? 'accent' : 'quiet'}>{working ? 'Working' : 'At rest'}</Badge>
      ),
  },
  { id: 'runtime', header: 'Runtime', className: 'max-md:hidden', cell: ({ runtime }) => runtime },
  { id: 'host', header: 'Host', className: 'max-md:hidden', cell: ({ host }) => host },
  {
    id: 'age',
    header: 'Started',
    className: 'text-right!',
    cell: ({ createdAt }) => <span className="tabular-nums">{ago(Date.parse(createdAt), now)}</span>,
  },
]

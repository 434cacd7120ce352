import { type Static, Type } from 'typebox'
import { Count, DateTime, nullable, open, openString, Uuid } from './scalar.ts'

const SessionRef = { sessionId: Uuid, title: Type.String() }

const HealthHost = Type.Object(
  {
    name: Type.String(),
    seenAt: Type.String({ format: 'date-time', description: 'When it last announced itself.' }),
    away: Type.Boolean({ description: 'Whether it has been silent for a minute: it starts nothing.' }),
    restsUntil: nullable(
      Type.String({
        format: 'date-time',
        description: 'Until when it starts nothing new, since it has failed; null: it does not rest.',
      }),
    ),
    runtimes: Type.Array(Type.String(), { description: 'Runtimes that only some machines have.' }),
    packagesFault: nullable(Type.String({ description: 'Why it installs no system packages; null if it does.' })),
    leases: Type.Integer({ minimum: 0, description: "The organization's live sandboxes on it." }),
  },
  { title: 'HealthHost', ...open },
)

const QueuedRun = Type.Object({ ...SessionRef, queuedAt: DateTime }, { title: 'QueuedRun', ...open })

const LiveLease = Type.Object(
  {
    ...SessionRef,
    host: Type.String(),
    runtime: Type.String(),
    state: openString(['creating', 'attached']),
    working: Type.Boolean({ description: 'Whether a Run uses it now.' }),
    createdAt: DateTime,
    expiresAt: DateTime,
  },
  { title: 'LiveLease', ...open },
)

const Backlog = Type.Object(
  {
    kind: openString(['workspace', 'review', 'publication', 'merge', 'webhook'], 'What has to be done.'),
    waiting: Count,
    oldestAt: nullable(DateTime),
  },
  { title: 'Backlog', ...open },
)

/** Whether the service works for an organization now. */
export const Health = Type.Object(
  {
    at: DateTime,
    hosts: Type.Array(HealthHost, { description: 'Of the deployment, by name. Those silent for a week are left out.' }),
    runs: Type.Object(
      {
        queued: Count,
        dispatching: Count,
        running: Count,
        awaiting: Type.Integer({ minimum: 0, description: 'Waiting for people.' }),
        oldest: Type.Array(QueuedRun, { description: 'Queued Runs, the oldest first, at most 20.' }),
      },
      open,
    ),
    ended: Type.Object(
      { completed: Count, failed: Count, cancelled: Count, crashed: Count },
      { description: 'Runs that ended in the last 24 hours.', ...open },
    ),
    leases: Type.Array(LiveLease, { description: 'Live sandboxes, the newest first, at most 100.' }),
    liveLeases: Count,
    backlogs: Type.Array(Backlog, { description: 'What waits for a worker or another service.' }),
    models: Type.Object(
      { requests: Count, failed: Count },
      { description: 'Requests to models in the last hour.', ...open },
    ),
  },
  { title: 'Health', ...open },
)

export type Health = Static<typeof Health>

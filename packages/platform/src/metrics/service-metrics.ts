import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { releaseVersion } from '../kit/version.ts'
import type { Queryable } from '../storage/postgres/database.ts'
import type { PooledDatabase } from '../storage/postgres/pool.ts'

/** Returns a registry with the metrics of this process and counts from the database, read at each request. */
export function serviceMetrics(
  db: Pick<PooledDatabase, 'query' | 'usage'>,
  { droppedLogLines }: { droppedLogLines(): number },
  clock: { readonly machineAheadMs: number },
): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'berth_build_info',
    help: 'Always 1; the label tells the version of this process.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: releaseVersion }, 1)
  new Counter({
    name: 'berth_log_lines_dropped_total',
    help: 'Log lines that could not be written.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(droppedLogLines())
    },
  })
  new Gauge({
    name: 'berth_clock_ahead_seconds',
    help: "Seconds that this machine's clock is ahead of the database's.",
    registers: [registry],
    collect() {
      this.set(clock.machineAheadMs / 1000)
    },
  })
  counted(registry, db, {
    name: 'berth_runs_active',
    help: 'Runs that have not ended, by status.',
    // Uses the index of active Runs.
    text: 'select status as label, count(*) as value from runs where ended_at is null group by status',
    label: 'status',
  })
  counted(registry, db, {
    name: 'berth_leases_live',
    help: 'Leases that have not ended, by state.',
    text: 'select state as label, count(*) as value from leases where ended_at is null group by state',
    label: 'state',
  })
  counted(registry, db, {
    name: 'berth_queue_oldest_seconds',
    help: 'Seconds that the Run which has waited longest has waited for a worker; 0 if none waits.',
    text: `select 'queued' as label, coalesce(extract(epoch from clock_timestamp() - min(queued_at)), 0)::float8 as value
      from runs where ended_at is null and status = 'queued'`,
    label: 'status',
  })
  counted(registry, db, {
    name: 'berth_host_sandboxes',
    help: 'Sandboxes that the hosts hold at most, by whether a lease is on them; hosts without a bound are not counted.',
    text: `select state as label, sum(places)::integer as value from (
        select unnest(array['held', 'free']) as state, unnest(array[held, greatest(0, capacity - held)]) as places
        from (
          select h.capacity, (select count(*)::integer from leases l where l.host = h.id and l.ended_at is null) as held
          from hosts h
          where h.removed_at is null and h.cordoned_at is null and h.capacity is not null
            and coalesce(h.rests_until <= clock_timestamp(), true)
            and h.seen_at > clock_timestamp() - interval '5 minutes') of_host) of_hosts
      group by state`,
    label: 'state',
  })
  counted(registry, db, {
    name: 'berth_hosts_resting',
    help: 'Hosts that get no further sandboxes for a while after failures, by cause.',
    text: `select because as label, (
        select count(*)::integer from hosts h
        where h.removed_at is null and h.rests_because = because and h.rests_until > clock_timestamp()) as value
      from unnest(array['no_answer', 'line_cut']) as because`,
    label: 'cause',
  })
  new Gauge({
    name: 'berth_database_connections',
    help: 'Connections of this process to the database, and statements that wait for one.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { open, idle, waiting } = db.usage
      this.set({ state: 'busy' }, open - idle)
      this.set({ state: 'idle' }, idle)
      this.set({ state: 'waiting' }, waiting)
    },
  })
  return registry
}

/** Adds the load of this process's worker, and of its hosts, to a registry. */
export function countLoad(
  registry: Registry,
  { load, atRest }: { load(): Record<'busy' | 'free', number>; atRest(): Record<'frozen' | 'parked', number> },
): void {
  new Gauge({
    name: 'berth_sandboxes_at_rest',
    help: "Sandboxes without a Run on this worker's hosts, by whether they have processes, as of its last sweep.",
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, count] of Object.entries(atRest())) this.set({ state }, count)
    },
  })
  new Gauge({
    name: 'berth_worker_hands',
    help: 'Runs that the worker of this process takes at most, by whether a Run is on them.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, runs] of Object.entries(load())) this.set({ state }, runs)
    },
  })
}

function counted(
  registry: Registry,
  db: Queryable,
  gauge: { readonly name: string; readonly help: string; readonly text: string; readonly label: string },
): void {
  const { name, help, text, label } = gauge
  new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    async collect() {
      const { rows } = await db.query<{ label: string; value: number }>(text)
      this.reset()
      for (const row of rows) this.set({ [label]: row.label }, row.value)
    },
  })
}

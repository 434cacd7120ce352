import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Queryable } from '../storage/postgres/database.ts'

/** Returns a registry with the metrics of this process and counts from the database, read at each request. */
export function serviceMetrics(db: Queryable, { droppedLogLines }: { droppedLogLines(): number }): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  new Counter({
    name: 'berth_log_lines_dropped_total',
    help: 'Log lines that could not be written.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(droppedLogLines())
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
  return registry
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

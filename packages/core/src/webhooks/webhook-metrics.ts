import { Counter, Gauge, type Registry } from 'prom-client'
import type { Context } from '../context.ts'
import { countDue } from './delivery-sql.ts'
import type { Attempted } from './sender.ts'

/** Adds the figures of webhooks to a registry. Returns the function that counts attempts. */
export function webhookMetrics(
  registry: Registry,
  { db, clock }: Pick<Context, 'db' | 'clock'>,
): { readonly attempted: Attempted } {
  const attempts = new Counter({
    name: 'berth_webhook_attempts_total',
    help: 'Attempts of this process to deliver webhooks, by the class of the response or the reason for none.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const ended = new Counter({
    name: 'berth_webhook_deliveries_ended_total',
    help: 'Deliveries that this process ended, by their status.',
    labelNames: ['status'],
    registers: [registry],
  })
  const oldest = new Gauge({
    name: 'berth_webhook_deliveries_due_age_seconds',
    help: 'Age of the oldest delivery that is due, of all processes.',
    registers: [registry],
  })
  new Gauge({
    name: 'berth_webhook_deliveries_due',
    help: 'Deliveries that are due and have not ended, of all processes.',
    registers: [registry],
    async collect() {
      const due = await countDue(db, clock.now())
      this.set(due.count)
      oldest.set(due.ageSeconds)
    },
  })
  return {
    attempted({ status, error }, outcome) {
      attempts.inc({ outcome: status === undefined ? error : `${Math.floor(status / 100)}xx` })
      if (outcome !== 'pending') ended.inc({ status: outcome })
    },
  }
}

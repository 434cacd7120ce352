// Measures budgets at which Runs wait: the time from an agent's request to its refusal, when the question to people is open
// already; and what eight Runs at two gateways spend over the limit of their organization.
import { randomUUID } from 'node:crypto'
import { setQuotaOf } from '../../packages/core/src/accounting/set-quota.ts'
import { mintRuntimeCredential } from '../../packages/core/src/identity/runtime-credentials/runtime-credential.ts'
import type { BenchDatabase } from './bench-database.ts'
import { median, quantile, show } from './statistics.ts'

/** A Run with a live lease, and a credential of it. */
async function newRuns({ db, newSessions }: BenchDatabase, count: number): Promise<string[]> {
  const now = new Date()
  return Promise.all(
    (await newSessions(count)).map(async ({ organizationId, sessionId }) => {
      const runId = randomUUID()
      await db.query(
        `with run as (
           insert into runs (organization_id, session_id, id, turn_id, status, queued_at, due_at, started_at)
           values ($1, $2, $3, gen_random_uuid(), 'running', $4, $4, $4))
         insert into leases (id, organization_id, session_id, driver, host, runtime, state, created_at, expires_at, bound_at, idle_ms)
         values (gen_random_uuid(), $1, $2, 'none', 'none', 'native', 'attached', $4, $4::timestamptz + interval '1 hour',
           $4::timestamptz + interval '1 hour', 3600000)`,
        [organizationId, sessionId, runId, now],
      )
      return mintRuntimeCredential(db, { organizationId, sessionId, runId }, now)
    }),
  )
}

/** @param gateways URLs of two gateways @param costUsd of each request to `mock/m1` */
export async function measureBudgets(
  bench: BenchDatabase,
  gateways: readonly string[],
  costUsd: number,
): Promise<string[]> {
  const { db, organizationId } = bench
  const body = JSON.stringify({
    model: 'mock/m1',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'a'.repeat(200) }],
  })
  const ask = async (credential: string, url = gateways[0]) => {
    const headers = { authorization: `Bearer ${credential}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    await answer.arrayBuffer()
    return answer.status
  }
  const limit = (limitUsd: number) =>
    setQuotaOf(db, { organizationId, period: 'month', limitUsd, onReached: 'pause' }, new Date())

  await limit(0)
  const times: number[] = []
  for (const credential of await newRuns(bench, 120)) {
    const begunAt = performance.now()
    if ((await ask(credential)) !== 402) throw new Error('a reached budget refused nothing')
    times.push(performance.now() - begunAt)
  }
  const { rows } = await db.query("select 1 from interactions where status = 'open' and budget_id is not null")
  if (rows.length !== times.length) throw new Error('a refusal asked nobody')
  const later = times.slice(20)
  const lines = [`refusal to question open: p50 ${show(median(later), 1)} ms, p90 ${show(quantile(later, 0.9), 1)} ms`]

  for (let round = 0; round < 5; round += 1) {
    await db.query('delete from gateway_budgets')
    const limitUsd = 50.5 * costUsd
    await limit(limitUsd)
    const work = async (credential: string, at: number) => {
      while ((await ask(credential, gateways[at % gateways.length])) === 200);
    }
    await Promise.all((await newRuns(bench, 8)).map(work))
    const { rows: spent } = await db.query<{ usd: number }>('select spent_usd::float8 as usd from gateway_budgets')
    lines.push(`over the limit: ${show(((spent[0]?.usd ?? 0) - limitUsd) / costUsd)} of a request`)
  }
  return lines
}

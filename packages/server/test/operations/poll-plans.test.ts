import { randomUUID } from 'node:crypto'
import { findOverdue } from '@berth/core/sessions/interactions/interaction-sql.ts'
import {
  findDueLeases,
  findLeasesOfArchived,
  findLeasesOfLostHosts,
  findLiveLeasesOfHosts,
} from '@berth/core/sessions/leases/lease-sql.ts'
import { findUnauthorizedRuns } from '@berth/core/sessions/runs/authority-sql.ts'
import { claimedDeliveries, findDueEndpoints } from '@berth/core/webhooks/delivery-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { claimQueued } from '@berth/testing/runs/claim-queued.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { adoptLapsed, claimWorkspaces, isDue } from '@berth/worker/claim/claim-sql.ts'
import { countAwaiting, hasUnheld, liveClaims } from '@berth/worker/claim/hold-sql.ts'
import { afterAll, expect, it } from 'vitest'

/**
 * Sessions with an ended Run, an ended lease and a closed question. Half of them are at rest; another worker holds the
 * others.
 */
const history = `
  with o as (insert into organizations (id, name, created_at) values (gen_random_uuid(), 'o', now()) returning id),
  s as (
    insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, created_at, updated_at)
    select o.id, gen_random_uuid(), 'app_installation', o.id, '', 't', now(), now()
    from o, generate_series(1, 3000) returning organization_id, id),
  r as (
    insert into runs (organization_id, session_id, id, turn_id, status, queued_at, due_at, ended_at)
    select organization_id, id, id, id, 'completed', now(), now(), now() from s returning organization_id, id),
  e as (
    insert into executions (organization_id, session_id, token, task, attempt, holder, acquired_at, heartbeat_at, expires_at)
    select organization_id, id, 1, case when n % 2 = 0 then 'seal' end, 1, 'b', now(), now(), 'infinity'
    from (select *, row_number() over () as n from s) s),
  l as (
    insert into leases (id, organization_id, session_id, driver, host, runtime, state, created_at, expires_at, bound_at,
      idle_ms, ended_at, end_reason)
    select id, organization_id, id, 'bubblewrap', 'a', 'shell', 'ended', now(), now(), now(), 1, now(), 'expired' from s)
  insert into interactions (organization_id, session_id, id, run_id, kind, status, resolution, request, lease_id,
    journal_offset, agent_request, opened_at, ended_at)
  select organization_id, id, 'q', id, 'ask_user', 'expired', 'run_ended', '{}', id, 0, '{}', now(), now() from r`

const busyEndpoint = randomUUID()

/** Deliveries of webhooks that have ended, of many endpoints and of a busy one. */
const sent = `
  insert into webhook_deliveries (endpoint_id, organization_id, body, status, created_at, ended_at)
  select case when n % 2 = 0 then gen_random_uuid() else '${busyEndpoint}' end, gen_random_uuid(), '{}', 'succeeded',
    now(), now()
  from generate_series(1, 6000) n`

const made = await createTestDatabase()
await made.database.query(history)
await made.database.query(sent)
await made.database.query('analyze')
afterAll(() => made[Symbol.asyncDispose]())

const now = new Date()
const claim = { organizationId: randomUUID(), sessionId: randomUUID(), token: 1, holder: 'a', runId: null }
const by = { holder: 'a', hosts: ['a'], now }

/** Queries that every process polls. */
const polls: Readonly<Record<string, (db: Queryable) => Promise<unknown>>> = {
  'queued Runs': db => claimQueued(db, by, 10),
  'Runs whose claim has lapsed': db => adoptLapsed(db, by, 10),
  'workspaces that are waited for': db => claimWorkspaces(db, by, 10),
  'work that no wake-up tells of': db => isDue(db, 'a', 1000),
  'claims that a worker does not know of': db => hasUnheld(db, 'a', [claim]),
  'claims that stand': db => liveClaims(db, [claim]),
  'Runs that wait for people': db => countAwaiting(db, [claim]),
  'leases that are due': db => findDueLeases(db, now, 10),
  'leases of archived Sessions': db => findLeasesOfArchived(db, 10),
  'leases of a host': db => findLiveLeasesOfHosts(db, ['a']),
  'leases of hosts that are gone': db => findLeasesOfLostHosts(db, ['a'], 10),
  'Runs whose authority has ended': db => findUnauthorizedRuns(db, 10),
  'questions that are due': db => findOverdue(db, now, 10),
  'endpoints with webhooks that are due': db => findDueEndpoints(db, now),
  'webhooks that are due': db => claimedDeliveries.claim(db, { now, until: now }, 10, [busyEndpoint, 16, randomUUID()]),
  'claims of webhooks to renew': db => claimedDeliveries.renewAll(db, [randomUUID()], now),
}

async function planOf(poll: (db: Queryable) => Promise<unknown>): Promise<string> {
  const plans: string[] = []
  await poll({
    async query<Row>(statement: Parameters<Queryable['query']>[0], values?: readonly unknown[]) {
      const { text, values: bound = [] } = typeof statement === 'string' ? { text: statement, values } : statement
      const { rows } = await made.database.query<{ 'QUERY PLAN': string }>(`explain ${text}`, bound)
      plans.push(...rows.map(row => row['QUERY PLAN']))
      return { rows: [] as Row[], rowCount: 0 }
    },
  })
  return plans.join('\n')
}

it.each(Object.entries(polls))('%s are found without reading the whole history', async (_, poll) => {
  expect(await planOf(poll)).not.toMatch(
    /Seq Scan on (sessions|runs|executions|leases|interactions|webhook_deliveries)\b/,
  )
})

it.each(['claims that stand', 'Runs that wait for people'])(
  '%s are found by the keys of a worker, however many rows others hold',
  async name => {
    const plan = await planOf(polls[name] ?? (() => Promise.resolve()))
    expect(plan).toMatch(/executions_pkey/)
    expect(plan).not.toMatch(/executions_held/)
  },
)

it('claims that a worker does not know of are found by a hash of those that it holds', async () => {
  const plan = await planOf(polls['claims that a worker does not know of'] ?? (() => Promise.resolve()))
  expect(plan).toMatch(/executions_of_holder/)
  expect(plan).toMatch(/hashed SubPlan/)
})

it('what is held of an endpoint is counted without reading what has ended', async () => {
  const plan = await planOf(polls['webhooks that are due'] ?? (() => Promise.resolve()))
  expect(plan).toMatch(/webhook_deliveries_held/)
  expect(plan).not.toMatch(/webhook_deliveries_in_order/)
})

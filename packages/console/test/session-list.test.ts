import { randomUUID } from 'node:crypto'
import { type Session, type SessionState, type SessionStatus, sessionStatuses } from '@berth/contract'
import {
  dropCheckpoints,
  dropParkedCheckpoint,
  insertCheckpoint,
  markDamaged,
} from '@berth/core/checkpoints/checkpoint-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { deliverPull, openInteraction, reviewChanges } from '@berth/testing/console/session-rows.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let api: Api
let own: Awaited<ReturnType<Accounts['person']>>
beforeAll(async () => {
  accounts = await startAccounts()
  own = await accounts.person({})
  api = own.api
})
afterAll(() => accounts[Symbol.asyncDispose]())

interface Page {
  readonly sessions: readonly { readonly session: Session; readonly state: SessionState }[]
  readonly nextCursor: string | null
  readonly hasMore: boolean
  readonly remaining?: number
}

const change = (text: string, ...values: readonly unknown[]) => accounts.test.db.database.query(text, values)
const page = async (query: string, at = api) => (await at.get<Page>(`/cloud/sessions?${query}`)).body as unknown as Page
const list = async (query: string, at = api) => (await page(query, at)).sessions.map(({ session }) => session.id)
const only = async (id: string) => (await page(`q=${id}`)).sessions[0]?.state

describe('the list of a person', () => {
  it('finds Sessions by words, and by who started them', async () => {
    const mark = randomUUID()
    const mine = await api.createSession({ title: `Mend the Parser ${mark} 100%` })
    const installed = await accounts.test.api.createSession({ title: `parser ${mark}` })
    expect(await list(`q=${mark}`)).toEqual([installed.id, mine.id])
    expect(await list(`q=${mark}%20PARSER`)).toEqual([installed.id, mine.id])
    expect(await list(`q=100%25%20${mark}`)).toEqual([mine.id])
    expect(await list(`q=${mark}&mine=1`)).toEqual([mine.id])
    expect(await list(`q=${mine.id}`)).toEqual([mine.id])
    await api.call('DELETE', `/v1/sessions/${mine.id}`)
    expect(await list(`q=${mark}`)).toEqual([installed.id])
    expect(await list(`q=${mark}&archived=only`)).toEqual([mine.id])
    expect(await list(`q=${mark}&archived=true`)).toEqual([mine.id, installed.id])
  })

  it('puts each Session into one group: it waits for an answer, works or does neither', async () => {
    const q = `q=${randomUUID()}`
    const title = q.slice(2)
    const [waits, works, rests] = [
      await api.createSession({ title }, 'a'),
      await api.createSession({ title }, 'b'),
      await api.createSession({ title }),
    ]
    const deadline = new Date('2030-01-01T00:00:00.000Z')
    await openInteraction(accounts.test.db.database, waits, { kind: 'approval', deadline })
    expect(await list(`${q}&state=needs_you`)).toEqual([waits.id])
    expect(await list(`${q}&state=working`)).toEqual([works.id])
    expect(await list(`${q}&state=rest`)).toEqual([rests.id])
    expect(await only(waits.id)).toMatchObject({
      attention: { openInteractions: 1, kind: 'approval', deadline: deadline.toISOString() },
    })
  })

  it('counts Sessions whose work was lost among those that wait for a person', async () => {
    const standIn = new WorkerStandIn(accounts.test.db.database)
    const title = randomUUID()
    const q = `q=${title}`
    const session = await api.createSession({ title }, 'a')
    const runId = session.activeRunId ?? ''
    await standIn.start(session, runId)
    expect([await list(`${q}&state=working`), await list(`${q}&state=needs_you`)]).toEqual([[session.id], []])
    await standIn.end(session, runId, { status: 'crashed' })
    expect(await only(session.id)).toMatchObject({ workLost: true, attention: null, phase: 'idle' })
    expect([await list(`${q}&state=needs_you`), await list(`${q}&state=rest`)]).toEqual([[session.id], []])
    // Nobody waits for them any more after a month, nor once they have dealt with it.
    await change(`update sessions set updated_at = now() - interval '31 days' where id = $1`, session.id)
    expect([await list(`${q}&state=needs_you`), await list(`${q}&state=rest`)]).toEqual([[], [session.id]])
    await change('update sessions set updated_at = now() where id = $1', session.id)
    expect((await api.call('POST', `/v1/sessions/${session.id}/reset`)).status).toBe(200)
    expect(await only(session.id)).toMatchObject({ workLost: false })
    expect([await list(`${q}&state=needs_you`), await list(`${q}&state=rest`)]).toEqual([[], [session.id]])
  })

  it('judges anew whenever a checkpoint comes, goes or is found damaged, and with each Turn', async () => {
    const standIn = new WorkerStandIn(accounts.test.db.database)
    const title = randomUUID()
    const session = await api.createSession({ title }, 'a')
    const { organizationId, id } = session
    const runId = session.activeRunId ?? ''
    await standIn.start(session, runId)
    await standIn.end(session, runId, { status: 'completed' })
    const lost = async () => (await list(`q=${title}&state=needs_you`)).length === 1
    const isMarked = async () => {
      const { rows } = await accounts.test.db.database.query<{ marked: boolean }>(
        'select sealed_turns = turn_count as marked from sessions where id = $1',
        [id],
      )
      return rows[0]?.marked ?? false
    }
    const state = async () => ({ lost: await lost(), marked: await isMarked() })
    const key = { organizationId, sessionId: id }
    const write = (work: (tx: Queryable) => Promise<unknown>) => accounts.test.db.database.transaction(work)
    const insert = (tx: Queryable, of: string) =>
      insertCheckpoint(
        tx,
        key,
        {
          run_id: of,
          runtime: 'shell',
          conversation: 'exact',
          agent_session_id: null,
          workspace_manifest: '',
          home_manifest: null,
          stored_bytes: 0,
          brought: null,
          sealed_at: new Date(),
          blobs: [],
        },
        2,
      )
    const seal = (of: string) => write(tx => insert(tx, of))
    await change(`update executions set task = null where session_id = $1`, id)
    expect(await state()).toEqual({ lost: true, marked: false })
    await seal(runId)
    expect(await state()).toEqual({ lost: false, marked: true })
    await write(tx => markDamaged(tx, key, runId, new Date()))
    expect(await state()).toEqual({ lost: true, marked: false })
    await write(tx => dropCheckpoints(tx, key))
    await seal(runId)
    expect(await state()).toEqual({ lost: false, marked: true })
    const { run } = await api.submitTurn(id, 'b')
    expect(await state()).toEqual({ lost: false, marked: false })
    await standIn.start(session, run.id)
    await standIn.end(session, run.id, { status: 'completed' })
    await change(`update executions set task = null where session_id = $1`, id)
    // The Session would not go on from the older checkpoint.
    expect(await state()).toEqual({ lost: true, marked: false })
    await seal(run.id)
    expect(await state()).toEqual({ lost: false, marked: true })
    // One from when the Run was parked lacks its later work.
    await change('update runs set ended_at = now() where id = $1', run.id)
    await write(tx => dropParkedCheckpoint(tx, key, run.id))
    expect(await state()).toEqual({ lost: true, marked: false })
    // Of two changes at a time the later one sees both.
    let dropped: Promise<unknown> = Promise.resolve()
    await write(async tx => {
      await insert(tx, run.id)
      dropped = write(other => dropCheckpoints(other, key))
      await until('a change that waits for the first', async () => {
        const { rowCount } = await accounts.test.db.database.query(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
        return rowCount > 0
      })
    })
    await dropped
    expect(await state()).toEqual({ lost: true, marked: false })
    expect((await change('select from checkpoints where session_id = $1', id)).rowCount).toBe(0)
  })

  it('tells who started a Session, what it has cost, and its newest pull request', async () => {
    const title = randomUUID()
    const session = await api.createSession({ title }, 'a')
    expect(await only(session.id)).toMatchObject({
      costUsd: 0,
      pull: null,
      startedBy: { id: own.who.personId, name: 'Robin Marsh' },
    })
    expect(await list(`q=${title}&pull=1`)).toEqual([])
    await change(
      `update runs set status = 'completed', ended_at = now(), cost_usd = 0.25 where session_id = $1`,
      session.id,
    )
    const db = accounts.test.db.database
    await deliverPull(db, session, { number: 6, url: 'https://git.example/p/6', merge: null })
    await deliverPull(db, session, { number: 7, url: 'https://git.example/p/7', merge: 'waiting' })
    expect(await only(session.id)).toMatchObject({
      costUsd: 0.25,
      pull: { number: 7, url: 'https://git.example/p/7', draft: false, merge: 'waiting' },
    })
    expect(await list(`q=${title}&pull=1`)).toEqual([session.id])
    const installed = await accounts.test.api.createSession()
    const { rows } = await change('select owner_id from sessions where id = $1', installed.id)
    expect(await only(installed.id)).toMatchObject({ startedBy: null, startedThrough: { kind: 'integration' } })
    const trigger = randomUUID()
    await change(
      `insert into triggers (organization_id, id, installation_id, name, message, session, enabled, created_at, updated_at)
       values ($1, $2, $3, 'Nightly', '', '{}', true, now(), now())`,
      ...[installed.organizationId, trigger, Object(rows[0]).owner_id],
    )
    const origin = { objectType: 'trigger', objectId: trigger }
    await change('update sessions set origin = $2 where id = $1', installed.id, origin)
    expect(await only(installed.id)).toMatchObject({ startedThrough: { kind: 'trigger', name: 'Nightly' } })
  })

  it('says of each Session in one word how it stands, and lists those of each', async () => {
    const title = randomUUID()
    const db = accounts.test.db.database
    const pull = { number: 6, url: 'https://git.example/p/6', merge: null }
    const ended = async (status: string, stopReason: string, errorCode: string | null = null) => {
      const session = await api.createSession({ title }, 'a')
      const ends =
        'update runs set status = $2, stop_reason = $3, error_code = $4, ended_at = now() where session_id = $1'
      await change(ends, session.id, status, stopReason, errorCode)
      return session
    }
    const waits = await api.createSession({ title }, 'a')
    await openInteraction(db, waits, { kind: 'approval', deadline: null })
    const works = await api.createSession({ title }, 'a')
    const failed = await ended('failed', 'error', 'model_unavailable')
    const failedAfterPull = await ended('crashed', 'error')
    await deliverPull(db, failedAfterPull, pull)
    await change('update runs set ended_at = now() where session_id = $1', failedAfterPull.id)
    const stopped = await ended('cancelled', 'aborted')
    const limited = await ended('completed', 'max_turns')
    const changed = await ended('completed', 'completed')
    await reviewChanges(db, changed)
    const changedAgain = await ended('completed', 'completed')
    await deliverPull(db, changedAgain, { ...pull, merge: 'succeeded' })
    await reviewChanges(db, changedAgain)
    const delivered = await ended('failed', 'error')
    await deliverPull(db, delivered, pull)
    const merged = await ended('completed', 'completed')
    await deliverPull(db, merged, { ...pull, merge: 'succeeded' })
    const mergedLater = await ended('failed', 'error')
    await deliverPull(db, mergedLater, { ...pull, merge: 'succeeded' })
    await change(`update publications set created_at = now() - interval '1 hour' where session_id = $1`, mergedLater.id)
    const done = await ended('completed', 'completed')
    const afresh = await ended('completed', 'completed')
    await reviewChanges(db, afresh)
    await change('update sessions set fresh_from_turn = 1, first_run_started_at = null where id = $1', afresh.id)
    const expected: Readonly<Record<SessionStatus, readonly Session[]>> = {
      needs_you: [waits],
      working: [works],
      failed: [failed, failedAfterPull],
      ready_to_review: [changed, changedAgain],
      pull_request_open: [delivered],
      merged: [merged, mergedLater],
      stopped: [stopped, limited],
      done: [done, afresh],
    }
    for (const status of sessionStatuses) {
      const ids = expected[status].map(({ id }) => id)
      expect((await list(`q=${title}&state=${status}`)).toSorted(), status).toEqual(ids.toSorted())
      for (const id of ids) expect([(await only(id))?.status, (await api.session(id)).status]).toEqual([status, status])
    }
    expect((await list(`q=${title}&state=rest`)).length).toBe(11)
    const lastRun = { id: failed.activeRunId, turnSequence: 0, status: 'failed', errorCode: 'model_unavailable' }
    expect([(await only(failed.id))?.lastRun, (await api.session(failed.id)).lastRun]).toEqual(
      Array(2).fill({ ...lastRun, stopReason: 'error' }),
    )
    await change('update runs set turns = 200 where session_id = $1', limited.id)
    expect((await only(limited.id))?.lastRun).toMatchObject({ stopReason: 'max_turns', turns: 200 })
  })

  it('says nothing of a Run that a reset left behind', async () => {
    const session = await api.createSession({}, 'a')
    await change(`update runs set status = 'failed', ended_at = now() where session_id = $1`, session.id)
    expect(await api.session(session.id)).toMatchObject({ status: 'failed' })
    await change('update sessions set fresh_from_turn = turn_count where id = $1', session.id)
    expect(await api.session(session.id)).toMatchObject({ status: 'done', lastRun: null })
  })

  it('keeps to the repository that is asked for', async () => {
    const title = randomUUID()
    const session = await api.createSession({ title })
    await api.createSession({ title })
    const source = {
      kind: 'github',
      grantId: randomUUID(),
      repositoryId: '77',
      label: 'acme/Web',
      private: true,
      baseBranch: 'release',
      baseOid: '0'.repeat(40),
    }
    await change('update sessions set source = $2 where id = $1', session.id, source)
    expect(await list(`q=${title}&repository=github:77`)).toEqual([session.id])
    expect(await list(`q=${title}&repository=local:77`)).toEqual([])
    expect(await list(`q=${title}%20ACME/web%20release`)).toEqual([session.id])
    expect(outcome(await api.get('/cloud/sessions?repository=x'))).toBe('400 invalid_request')
  })

  it('pages without losing or repeating one, and refuses the cursor of another list', async () => {
    const title = randomUUID()
    const made: string[] = []
    for (let at = 0; at < 5; at++) made.push((await api.createSession({ title })).id)
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { sessions, nextCursor, hasMore } = await page(`q=${title}&limit=2${cursor}`)
      seen.push(...sessions.map(({ session }) => session.id))
      if (!hasMore) break
      cursor = `&cursor=${nextCursor}`
    }
    expect(seen).toEqual(made.toReversed())
    const counts = async (query: string) => (await page(`q=${title}&counted=1${query}`)).remaining
    expect([await counts('&limit=2'), await counts('&limit=5'), await counts('&state=working')]).toEqual([3, 0, 0])
    expect((await page(`q=${title}`)).remaining).toBeUndefined()
    const { nextCursor } = await page(`q=${title}&limit=2`)
    expect(await counts(`&limit=1&state=done&cursor=${nextCursor}`)).toBe(2)
    const { body } = await api.get<{ nextCursor: string }>('/v1/sessions?limit=1')
    expect(outcome(await api.get(`/cloud/sessions?cursor=${body.nextCursor}`))).toBe('400 invalid_request')
  })

  it('shows what a person pinned to that person', async () => {
    const session = await api.createSession()
    await api.put(`/cloud/sessions/${session.id}/marks`, { pinned: true })
    const other = await accounts.person({})
    expect(await list('pinned=1')).toEqual([session.id])
    expect(await list('pinned=0')).not.toContain(session.id)
    expect(await list('pinned=1', other.api)).toEqual([])
  })

  it('hides what a person snoozes until it is due, asks something or ends a Run', async () => {
    const title = randomUUID()
    const [due, asks, ends, kept] = [
      await api.createSession({ title }),
      await api.createSession({ title }, 'a'),
      await api.createSession({ title }, 'a'),
      await api.createSession({ title }),
    ]
    const snooze = (id: string, snoozed: object | null, by = api) => by.put(`/cloud/sessions/${id}/marks`, { snoozed })
    const until = new Date(Date.now() + 3_600_000).toISOString()
    await openInteraction(accounts.test.db.database, asks, { kind: 'approval', deadline: null })
    for (const { id } of [due, asks, ends, kept]) await snooze(id, { until })
    expect((await list(`q=${title}&snoozed=1`)).toSorted()).toEqual([due.id, asks.id, ends.id, kept.id].toSorted())
    expect(await list(`q=${title}&snoozed=0`)).toEqual([])
    expect((await only(kept.id))?.snoozed).toEqual({ until })
    const other = await accounts.person({})
    expect(await list(`q=${title}&snoozed=1`, other.api)).toEqual([])
    // Another mark leaves it as it is.
    await api.put(`/cloud/sessions/${kept.id}/marks`, { pinned: true })
    await snooze(due.id, { until: new Date(Date.now() - 1).toISOString() })
    await openInteraction(accounts.test.db.database, asks, { kind: 'approval', deadline: null })
    await change(`update runs set status = 'completed', ended_at = now() where session_id = $1`, ends.id)
    expect(await list(`q=${title}&snoozed=1`)).toEqual([kept.id])
    expect((await list(`q=${title}&snoozed=0`)).length).toBe(3)
    await snooze(kept.id, {})
    expect((await only(kept.id))?.snoozed).toEqual({})
    await snooze(kept.id, null)
    expect(await only(kept.id)).toMatchObject({ snoozed: null, pinned: true })
    expect(outcome(await api.put(`/cloud/sessions/${kept.id}/marks`, {}))).toBe('400 invalid_request')
  })

  it('has nothing of another organization, whatever is asked', async () => {
    const { tenant } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    for (const query of ['', 'archived=true', 'state=needs_you', 'state=working', 'state=rest', 'mine=1']) {
      expect(await list(query, stranger.api)).toEqual([])
    }
  })
})

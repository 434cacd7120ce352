import { randomUUID } from 'node:crypto'
import type { Event, Fence, Interaction, Session } from '@berth/contract'
import { messagesOf, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { databaseUrl, shortFence } from '@berth/testing/services/service.ts'
import { startServiceProcess } from '@berth/testing/services/service-process.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { Resuming } from '@berth/testing/workspaces/resuming.ts'
import { leaseOf, touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decideInteraction } from '../../src/sessions/interactions/decide-interaction.ts'
import { InteractionSweeper } from '../../src/sessions/interactions/interaction-sweeper.ts'

/** The API without a worker; each test starts and stops its own workers. */
let resuming: Resuming
beforeAll(async () => {
  resuming = await Resuming.open({ BERTH_APPROVAL_SECONDS: '1000' })
})
afterAll(() => resuming[Symbol.asyncDispose]())

const pathOf = (session: Session) => `/v1/sessions/${session.id}/interactions`
const open = async (session: Session) =>
  (await resuming.api.get<{ interactions: Interaction[] }>(pathOf(session))).body.interactions
const onlyInteraction = (session: Session) => until('an interaction', async () => (await open(session))[0])
const decide = (session: Session, { id, request }: Interaction, choice = 'allow_once') =>
  resuming.api.put(`${pathOf(session)}/${id}/decision`, {
    requestId: request.approval?.requestId,
    choice,
    idempotencyKey: randomUUID(),
  })
const reply = (session: Session, { id }: Interaction, message: string) =>
  resuming.api.put(`/v1/sessions/${session.id}/turns/${randomUUID()}`, { message, replyTo: { interactionId: id } })
const begin = (script: string) => resuming.api.createSession({ runtime: 'scripted' }, script)
const ends = (events: readonly Event[]) =>
  events.filter(event => event.type === 'svc.interaction.expired').map(event => event.data['resolution'])
const form = `ask ${JSON.stringify({ message: 'Which?', requestedSchema: { properties: { a: { type: 'string' } } } })}`

/** Starts a worker in a process of its own, so that the test can kill it. */
const worker = () =>
  startServiceProcess({
    BERTH_ROLES: 'worker',
    ...shortFence,
    BERTH_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
    BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
    BERTH_DATA_DIR: resuming.test.dataDir,
    DATABASE_URL: databaseUrl(resuming.test.db),
  })

describe('a worker that is killed', () => {
  it('loses no open question: people answer while no worker is there, and the next one tells the agent', async () => {
    const first = await worker()
    const [approved, formSession] = [await begin('permission deploy'), await begin(form)]
    const [approval, question] = [await onlyInteraction(approved), await onlyInteraction(formSession)]
    await first.kill('SIGKILL')
    expect([await open(approved), await open(formSession)]).toEqual([[approval], [question]])
    expect((await decide(approved, approval)).status).toBe(200)
    expect((await reply(formSession, question, 'mine')).status).toBe(202)
    await using _second = await worker()
    const [one, other] = [await resuming.ended(approved), await resuming.ended(formSession)]
    expect([outcomeOf(one), messagesOf(one)]).toMatchObject(['completed completed - 1', [{ text: 'permission: yes' }]])
    expect(outcomeOf(other)).toBe('completed completed - 1')
    expect(JSON.parse(String(messagesOf(other)[0]?.['text']))).toMatchObject({ content: { a: 'mine' } })
  })

  it('leaves its questions to be decided after another has taken over', async () => {
    const first = await worker()
    const session = await begin('permission a\npermission b')
    const approval = await onlyInteraction(session)
    const holder = async () =>
      (await resuming.api.get<{ fence: Fence | null }>(`/v1/sessions/${session.id}/fence`)).body.fence?.token ?? 0
    const before = await holder()
    await first.kill('SIGKILL')
    await using _second = await worker()
    await until('a takeover', async () => (await holder()) > before)
    expect((await decide(session, approval, 'allow_turn')).status).toBe(200)
    const run = await resuming.ended(session)
    expect(messagesOf(run).map(({ text }) => text)).toEqual(['permission: yes', 'permission: yes'])
    const opened = run.events.filter(event => event.type === 'svc.interaction.opened')
    expect(opened).toHaveLength(1)
  })
})

describe('a rejected plan', () => {
  it('is planned again under the next worker, with the comments on it', async () => {
    const first = await worker()
    const session = await begin('plan Do it.')
    await reply(session, await onlyInteraction(session), 'wait /workspace/go\nsay after')
    const heard = async () => (await resuming.api.events(session.id)).some(({ data }) => data['role'] === 'assistant')
    await until('a refusal that is heard', heard)
    await first.kill('SIGKILL')
    await using _second = await worker()
    await touch(resuming.test.db.database, resuming.test.dataDir, session, 'go')
    const run = await resuming.ended(session)
    expect([outcomeOf(run), messagesOf(run).at(-1)]).toMatchObject(['completed completed - 1', { text: 'after' }])
  })
})

describe('an open question', () => {
  it('keeps no worker from other runs, however long it is open', async () => {
    await using stack = new AsyncDisposableStack()
    await resuming.work(stack, { limits: { concurrency: 1 } })
    const waiting = await begin(form)
    const question = await onlyInteraction(waiting)
    const other = await begin('say meanwhile')
    expect(messagesOf(await resuming.ended(other))).toMatchObject([{ text: 'meanwhile' }])
    expect((await reply(waiting, question, 'x')).status).toBe(202)
    expect(outcomeOf(await resuming.ended(waiting))).toBe('completed completed - 1')
  })

  it('expires at its deadline by the clock without a worker, and the agent is told', async () => {
    await using stack = new AsyncDisposableStack()
    const first = stack.use(await worker())
    const session = await begin('permission deploy')
    const approval = await onlyInteraction(session)
    await first.kill('SIGKILL')
    const clock = { at: Date.parse(approval.deadline ?? '') - 1, now: () => new Date(clock.at) }
    const context = { ...(await workerContext(resuming.test, stack)), clock }
    const sweeper = new InteractionSweeper(context)
    await sweeper.round()
    expect(await open(session)).toHaveLength(1)
    clock.at += 1
    const { installationId: id, organizationId } = resuming.test.tenant
    const owner = {
      kind: 'app_installation',
      id,
      organizationId,
      capabilities: new Set<never>(),
      expiresAt: null,
    } as const
    const decision = { requestId: approval.request.approval?.requestId ?? '', choice: 'allow_once' as const }
    const late = decideInteraction(context, owner, keyOf(session), approval.id, { ...decision, idempotencyKey: 'late' })
    await expect(late).rejects.toMatchObject({ code: 'cloud_interaction_conflict', fields: {} })
    await sweeper.round()
    expect(await open(session)).toEqual([])
    expect(await decide(session, approval)).toMatchObject({
      status: 409,
      body: { error: 'cloud_interaction_conflict' },
    })
    stack.use(await worker())
    const run = await resuming.ended(session)
    expect([ends(run.events), messagesOf(run)]).toMatchObject([['timed_out'], [{ text: 'permission: no' }]])
    expect(outcomeOf(run)).toBe('completed completed - 1')
  })

  it('ends with a lost sandbox', async () => {
    await using stack = new AsyncDisposableStack()
    const context = await resuming.work(stack)
    const session = await begin(`tool a\n${form}`)
    await onlyInteraction(session)
    await context.driver.destroy(await leaseOf(resuming.test.db.database, session))
    const run = await resuming.ended(session)
    expect([ends(run.events), outcomeOf(run)]).toEqual([
      ['workspace_lost'],
      'crashed engine_unreachable turn_execution_lost 1',
    ])
  })

  it("ends with the lifetime of the sandbox in which a foreign agent waits, not with its run's time", async () => {
    await using stack = new AsyncDisposableStack()
    await resuming.work(stack, { limits: { runMs: 4_000, leaseMaxMs: 12_000, leaseIdleMs: 10_000 } })
    const session = await begin(form)
    const question = await onlyInteraction(session)
    const run = await resuming.ended(session)
    expect([ends(run.events), outcomeOf(run)]).toEqual([
      ['workspace_lost'],
      'crashed execution_deadline turn_execution_lost 1',
    ])
    expect(Date.parse(run.run.endedAt ?? '') - Date.parse(question.openedAt)).toBeGreaterThan(4_500)
  })

  it.each([
    ['an agent that exits is gone', 'crash', 'request_gone'],
    ['a run that ends around it', 'stop end_turn', 'run_ended'],
  ])('ends with %s', async (_, then, resolution) => {
    await using stack = new AsyncDisposableStack()
    await resuming.work(stack)
    const session = await begin(`tool a\nleave deploy\nwait /workspace/go\n${then}`)
    await onlyInteraction(session)
    await touch(resuming.test.db.database, resuming.test.dataDir, session, 'go')
    expect(ends((await resuming.ended(session)).events)).toEqual([resolution])
  })
})

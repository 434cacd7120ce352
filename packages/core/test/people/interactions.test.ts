import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DecisionChoice, Event, Interaction, Session } from '@berth/contract'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import type { Answer } from '@berth/testing/api/api.ts'
import { type EndedRun, endedRun, messagesOf, outcomeOf, typesOf } from '@berth/testing/runs/ended-run.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let test: TestService
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  const directory = await mkdtemp(join(tmpdir(), 'berth-rules-'))
  stack.defer(() => rm(directory, { recursive: true }))
  const rules = join(directory, 'rules.json')
  await writeFile(rules, JSON.stringify({ allow: [{ runtimes: ['scripted'], commands: ['make check *'] }] }))
  const variables = { BERTH_APPROVAL_RULES: rules }
  test = stack.use(await startTestService({ variables, config: { runtimes } }))
})
afterAll(() => stack.disposeAsync())

const begin = (script: string): Promise<Session> => test.api.createSession({ runtime: 'scripted' }, script)
const pathOf = (session: Session) => `/v1/sessions/${session.id}/interactions`

async function listed(session: Session): Promise<Interaction[]> {
  const answer = await test.api.get<{ interactions: Interaction[] }>(pathOf(session))
  expect(answer.status).toBe(200)
  return answer.body.interactions
}

/** Returns the open questions once there are that many. */
const interactions = (session: Session, count = 1): Promise<Interaction[]> =>
  until(`${count} open interactions`, async () => {
    const open = await listed(session)
    return open.length === count && open
  })

async function onlyInteraction(session: Session): Promise<Interaction> {
  const [only] = await interactions(session)
  if (only === undefined) throw new Error('nothing is open')
  return only
}

const requestIdOf = (interaction: Interaction) => interaction.request.approval?.requestId ?? ''

function decide(
  session: Session,
  interaction: Interaction,
  choice: DecisionChoice,
  more: { requestId?: string; idempotencyKey?: string } = {},
): Promise<Answer> {
  const body = { requestId: requestIdOf(interaction), choice, idempotencyKey: randomUUID(), ...more }
  return test.api.put(`${pathOf(session)}/${interaction.id}/decision`, body)
}

const reply = (session: Session, interaction: Interaction, message: string, turnId: string = randomUUID()) =>
  test.api.put(`/v1/sessions/${session.id}/turns/${turnId}`, {
    message,
    replyTo: { interactionId: interaction.id },
  })

const ended = (session: Session): Promise<EndedRun> => endedRun(test.api, session, session.activeRunId ?? '')
const texts = (run: EndedRun) => messagesOf(run).map(({ text }) => text)
const interactionEvents = (events: readonly Event[]) =>
  events
    .filter(event => event.type.startsWith('svc.interaction.'))
    .map(({ type, data }) => [type.replace('svc.interaction.', ''), data['resolution'] ?? null])
const phase = async (session: Session) => (await test.api.session(session.id)).phase
const cancel = (session: Session) =>
  test.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)

const form = (properties: object, required: string[] = [], message = 'Which?') =>
  `ask ${JSON.stringify({ message, requestedSchema: { properties, required } })}`

const conflict = (outcome?: object) => ({ error: 'cloud_interaction_conflict', ...(outcome && { outcome }) })

describe('an approval', () => {
  it('shows everything that is to be done, and is decided while the run continues', async () => {
    const session = await begin('permission make deploy')
    const approval = await onlyInteraction(session)
    expect(approval).toEqual({
      id: approval.id,
      sessionId: session.id,
      runId: session.activeRunId,
      kind: 'approval',
      status: 'open',
      deadline: expect.any(String),
      openedAt: expect.any(String),
      request: {
        approval: {
          requestId: expect.any(String),
          runId: session.activeRunId,
          deadline: Date.parse(approval.deadline ?? ''),
          toolName: 'execute',
          title: 'make deploy',
          input: { command: 'make deploy' },
          options: [
            { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
            { optionId: 'always', name: 'Always allow', kind: 'allow_always' },
            { optionId: 'no', name: 'Reject', kind: 'reject_once' },
          ],
          rememberScopes: ['turn', 'chat'],
          kind: 'execute',
          itemId: expect.any(String),
          confinement: 'sandbox',
        },
      },
    })
    expect(Date.parse(approval.deadline ?? '') - Date.parse(approval.openedAt)).toBe(600_000)
    expect(await phase(session)).toBe('running')
    const decided = await decide(session, approval, 'allow_once')
    const decidedBy = { kind: 'app_installation', id: test.tenant.installationId }
    const end = { status: 'resolved', resolution: 'approved', decidedBy }
    const outcome = { interactionId: approval.id, choice: 'allow_once', ...end }
    expect([decided.status, decided.body]).toEqual([200, { outcome }])
    const run = await ended(session)
    expect([texts(run), outcomeOf(run)]).toEqual([['permission: yes'], 'completed completed - 1'])
    expect(await listed(session)).toEqual([])
    const [opened, resolved] = run.events.filter(event => event.type.startsWith('svc.interaction.'))
    const { input: _, ...shown } = approval.request.approval ?? {}
    expect(opened?.data).toEqual({
      interactionId: approval.id,
      kind: 'approval',
      status: 'open',
      deadline: approval.deadline,
      request: { approval: shown },
    })
    expect(resolved?.data).toMatchObject({ interactionId: approval.id, ...end })
    const progress = run.events.find(event => event.type === 'svc.run.progress')
    expect(approval.request.approval?.itemId).toBe(progress?.data['activityId'])
    expect((await test.api.get<{ turns: unknown[] }>(`/v1/sessions/${session.id}/turns`)).body.turns).toHaveLength(1)
  })

  it.each([
    ['allow_once', 'approved', 'yes', 2],
    ['allow_turn', 'turn_allowed', 'yes', 1],
    ['allow_chat', 'always_allowed', 'yes', 1],
    ['deny', 'denied', 'no', 2],
  ] as const)('that is decided by %s is %s, for as long as that says', async (choice, resolution, option, opened) => {
    const session = await begin('permission one\npermission two')
    await decide(session, await onlyInteraction(session), choice)
    if (opened === 2) {
      const second = await until('the second', async () =>
        (await listed(session)).find(each => each.request.approval?.title === 'two'),
      )
      await decide(session, second, choice)
    }
    const run = await ended(session)
    expect(texts(run)).toEqual([`permission: ${option}`, `permission: ${option}`])
    const once = [
      ['opened', null],
      ['resolved', resolution],
    ]
    expect(interactionEvents(run.events)).toEqual(
      opened === 2 ? [...once, ...once] : [...once, ['resolved', resolution]],
    )

    const next = await test.api.submitTurn(session.id, 'permission three')
    if (choice !== 'allow_chat') await decide(session, await onlyInteraction(session), 'deny')
    const after = await endedRun(test.api, session, next.run.id)
    expect(texts(after)).toEqual([`permission: ${choice === 'allow_chat' ? 'yes' : 'no'}`])
  })

  it("that an operator's rule allows needs no person, and is in the log", async () => {
    const run = await ended(await begin('permission make check --fast'))
    expect([texts(run), outcomeOf(run)]).toEqual([['permission: yes'], 'completed completed - 1'])
    const [allowed, ...others] = run.events.filter(event => event.type.startsWith('svc.interaction.'))
    expect([allowed, others]).toMatchObject([
      {
        type: 'svc.interaction.resolved',
        data: {
          status: 'resolved',
          resolution: 'project_allowed',
          request: { approval: { title: 'make check --fast', toolName: 'execute' } },
        },
      },
      [],
    ])
    const session = await begin('permission make check; make deploy')
    await decide(session, await onlyInteraction(session), 'deny')
    expect(texts(await ended(session))).toEqual(['permission: no'])
  })

  it('that two people decide at once goes to one, and the other is told to whom', async () => {
    const session = await begin('permission deploy')
    const approval = await onlyInteraction(session)
    const answers = await Promise.all([decide(session, approval, 'allow_once'), decide(session, approval, 'deny')])
    const [won, lost] = answers.toSorted((a, b) => a.status - b.status)
    expect([won?.status, lost?.status]).toEqual([200, 409])
    expect(lost?.body).toEqual(conflict(won?.body['outcome'] as object))
    await ended(session)
  })

  it('keeps its key: the same decision again returns it, and any other is refused with it', async () => {
    const session = await begin('permission deploy\nhang')
    const approval = await onlyInteraction(session)
    const wrong = await decide(session, approval, 'allow_once', { requestId: 'another' })
    expect([wrong.status, wrong.body]).toEqual([409, conflict()])
    const decided = await decide(session, approval, 'deny', { idempotencyKey: 'k' })
    const again = await decide(session, approval, 'deny', { idempotencyKey: 'k' })
    expect([again.status, again.body]).toEqual([200, decided.body])
    const others = [
      decide(session, approval, 'allow_once', { idempotencyKey: 'k' }),
      decide(session, approval, 'deny', { idempotencyKey: 'l' }),
      decide(session, approval, 'deny', { idempotencyKey: 'k', requestId: 'another' }),
    ]
    for (const other of await Promise.all(others)) {
      expect([other.status, other.body]).toEqual([409, conflict(decided.body['outcome'] as object)])
    }
    await test.api.call('DELETE', `/v1/sessions/${session.id}`)
    const archived = await decide(session, approval, 'deny', { idempotencyKey: 'k' })
    expect([archived.status, archived.body]).toEqual([200, decided.body])
    expect((await decide(session, approval, 'deny')).status).toBe(404)
  })

  it('cannot be answered by a turn, nor a question by a decision', async () => {
    const session = await begin('permission deploy')
    const approval = await onlyInteraction(session)
    expect(await reply(session, approval, 'yes')).toMatchObject({ status: 409, body: conflict() })
    await decide(session, approval, 'deny')
    await ended(session)
    const question = await begin('plan Do it.')
    const asking = await onlyInteraction(question)
    expect(await decide(question, asking, 'allow_once', { requestId: 'x' })).toMatchObject({
      status: 409,
      body: conflict(),
    })
    await cancel(question)
  })

  it('that its agent withdraws is gone', async () => {
    const run = await ended(await begin('hasty deploy'))
    expect(texts(run)[0]).toMatch(/^permission: .*cancel/i)
    expect(interactionEvents(run.events)).toEqual([
      ['opened', null],
      ['expired', 'request_gone'],
    ])
  })

  it.each([
    ['no options', [], 'cancelled'],
    ['no way to allow it once', [{ optionId: 'a', name: 'A', kind: 'allow_always' }], 'cancelled'],
    ['only a way to say no', [{ optionId: 'n', name: 'N', kind: 'reject_once' }], 'n'],
  ])('with %s is not shown to people, and the log says so', async (_, options, outcome) => {
    const run = await ended(await begin(`options ${JSON.stringify(options)}`))
    expect([texts(run), interactionEvents(run.events)]).toEqual([
      [`permission: ${outcome}`],
      [['expired', 'cancelled']],
    ])
  })

  it('ends with the cancellation of its run', async () => {
    const session = await begin('permission deploy')
    const approval = await onlyInteraction(session)
    await cancel(session)
    expect(await listed(session)).toEqual([])
    expect(await decide(session, approval, 'allow_once')).toMatchObject({ status: 409, body: conflict() })
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('cancelled aborted - 1')
    expect(interactionEvents(run.events)).toEqual([
      ['opened', null],
      ['expired', 'run_cancelled'],
    ])
  })
})

describe('a question', () => {
  it('suspends the run until a turn answers it, and the run continues', async () => {
    const session = await begin(
      `say Let me ask.\n${form({ colour: { type: 'string', enum: ['red', 'blue'] } })}\ntool paint`,
    )
    const question = await onlyInteraction(session)
    expect(question).toMatchObject({
      kind: 'ask_user',
      request: {
        questions: [{ question: 'Which?', options: ['red', 'blue'], fieldId: 'colour', valueType: 'string' }],
      },
    })
    expect([question.deadline, await phase(session)]).toEqual([undefined, 'awaiting'])
    const other = await test.api.put(`/v1/sessions/${session.id}/turns/${randomUUID()}`, { message: 'and?' })
    expect(other).toMatchObject({ status: 409, body: { error: 'cloud_run_in_progress' } })
    const turnId = randomUUID()
    const answer = await reply(session, question, ' Blue ', turnId)
    expect(answer).toMatchObject({
      status: 202,
      body: {
        created: true,
        turn: { id: turnId, sequence: 1, runId: session.activeRunId, replyTo: { interactionId: question.id } },
        run: { id: session.activeRunId, status: 'running', turnId: expect.not.stringContaining(turnId) },
      },
    })
    const run = await ended(session)
    const texts = messagesOf(run).map(({ text }) => text)
    expect(texts[0]).toBe('Let me ask.')
    expect(JSON.parse(String(texts[1]))).toMatchObject({ action: 'accept', content: { colour: 'blue' } })
    expect(typesOf(run).filter(type => !type.startsWith('run.progress'))).toEqual([
      'run.started',
      'message.created',
      'interaction.opened',
      'interaction.resolved',
      'message.created',
      'activity.completed',
      'artifact.created',
      'run.completed',
    ])
    const resolved = run.events.find(event => event.type === 'svc.interaction.resolved')
    expect(resolved?.data).toEqual({ interactionId: question.id, kind: 'ask_user', status: 'resolved', turnId })
    const again = await reply(session, question, ' Blue ', turnId)
    expect(again).toMatchObject({ status: 202, body: { created: false, run: { status: 'completed' } } })
    expect(await reply(session, question, 'red', turnId)).toMatchObject({
      status: 409,
      body: { error: 'cloud_turn_conflict' },
    })
    expect(await reply(session, question, 'red')).toMatchObject({ status: 409, body: conflict() })
  })

  it('refuses a wrong answer with the name of the field, and stays open', async () => {
    const session = await begin(form({ age: { type: 'integer', minimum: 18 } }, ['age']))
    const question = await onlyInteraction(session)
    const wrong = await reply(session, question, '{"age": 17}')
    expect([wrong.status, wrong.body['issues']]).toEqual([
      400,
      [{ path: ['message', 'age'], message: 'is less than 18' }],
    ])
    expect(await phase(session)).toBe('awaiting')
    expect((await reply(session, question, '{"age": 18}')).status).toBe(202)
    expect(JSON.parse(String(texts(await ended(session))[0]))).toEqual({ action: 'accept', content: { age: 18 } })
  })

  it('is not found if its id is unknown', async () => {
    const session = await begin(form({}))
    await onlyInteraction(session)
    expect(await reply(session, { id: 'nobody' } as Interaction, 'x')).toMatchObject({ status: 404 })
    const stranger = (await test.newTenant()).api
    expect((await stranger.get(pathOf(session))).status).toBe(404)
    await cancel(session)
  })

  it('of 1 MB without a field that can be shown is truncated and can still be answered', async () => {
    const session = await begin(`big ${1024 ** 2}`)
    const question = await onlyInteraction(session)
    const [shown] = question.request.questions ?? []
    expect([shown?.question.length, shown?.header?.length, shown?.options.map(option => option.length)]).toEqual([
      2000,
      80,
      [500, 500],
    ])
    await reply(session, question, 'whatever')
    expect(texts(await ended(session))).toEqual(['accept'])
  })

  it('among a hundred is one of those shown; the rest is cancelled', async () => {
    const session = await begin('asks 100')
    const open = await interactions(session, 32)
    for (const question of open) expect((await reply(session, question, 'x')).status).toBe(202)
    const run = await ended(session)
    expect(texts(run)).toEqual(['accepted 32, cancelled 68'])
    expect(interactionEvents(run.events).filter(([, resolution]) => resolution === 'cancelled')).toHaveLength(68)
  })

  it('ends at once with a cancelled run, whose agent is released and whose work is kept', async () => {
    const session = await begin(`permission a\n${form({})}`)
    await decide(session, await onlyInteraction(session), 'allow_once')
    const question = await until('a question', async () =>
      (await listed(session)).find(each => each.kind === 'ask_user'),
    )
    const answer = await cancel(session)
    expect(answer.body).toMatchObject({ run: { status: 'cancelled' } })
    expect(await reply(session, question, 'x')).toMatchObject({ status: 409, body: conflict() })
    const run = await ended(session)
    expect(interactionEvents(run.events).at(-1)).toEqual(['expired', 'run_cancelled'])
    await until('the end of sealing', async () => (await phase(session)) === 'idle')
    const { rows } = await test.db.database.query('select 1 from checkpoints where session_id = $1', [session.id])
    expect(rows).toHaveLength(1)
    const next = await test.api.submitTurn(session.id, 'say again')
    expect(texts(await endedRun(test.api, session, next.run.id))).toEqual(['again'])
  })

  it('ends with its session', async () => {
    const session = await begin(form({}))
    await onlyInteraction(session)
    await test.api.call('DELETE', `/v1/sessions/${session.id}`)
    const log = await test.api.events(session.id)
    expect(interactionEvents(log)).toEqual([
      ['opened', null],
      ['expired', 'session_archived'],
    ])
    expect(log.at(-1)?.type).toBe('svc.run.cancelled')
    expect(await listed(session)).toEqual([])
  })
})

describe('a plan', () => {
  it.each([
    [' Approve', 'approved', ['plan: yes']],
    ['say fewer files', 'denied', ['plan: no {"feedback":"say fewer files"}', 'fewer files']],
  ])('that is answered with %j is %s, and its agent is told', async (message, resolution, outcome) => {
    const session = await begin('plan 1. Do it.')
    const plan = await onlyInteraction(session)
    expect(plan).toMatchObject({ kind: 'exit_plan_mode', request: { prompt: 'Ready?', plan: '1. Do it.' } })
    expect(await phase(session)).toBe('awaiting')
    expect((await reply(session, plan, message)).status).toBe(202)
    const run = await ended(session)
    expect([texts(run), interactionEvents(run.events).at(-1)]).toEqual([outcome, ['resolved', resolution]])
    expect(outcomeOf(run)).toBe('completed completed - 1')
  })

  it('is shown to its last character, or says that it is truncated', async () => {
    const long = 'ü'.repeat(40_000)
    const session = await begin(`plan ${long}`)
    const plan = await onlyInteraction(session)
    expect(plan.request).toEqual({ prompt: 'Ready?', plan: long })
    await reply(session, plan, `plan ${'ü'.repeat(70_000)}`)
    const second = await until('a second plan', async () =>
      (await listed(session)).find(({ request }) => request.planTruncated === true),
    )
    expect([...(second.request.plan ?? '')]).toHaveLength(65_536)
    expect(second.request.plan).toMatch(/ü\n\n\[The plan is longer than can be shown\. This is its beginning\.\]$/)
    await reply(session, second, 'approve')
    const run = await ended(session)
    const [opened] = run.events.filter(({ type }) => type === 'svc.interaction.opened')
    expect(opened?.data['request']).toEqual(plan.request)
  })

  it('that is rejected is planned again in the same run until one is approved', async () => {
    const session = await begin('plan 1. Do it.')
    await reply(session, await onlyInteraction(session), 'plan 1. Do less.')
    const second = await until('a second plan', async () =>
      (await listed(session)).find(({ request }) => request.plan === '1. Do less.'),
    )
    await reply(session, second, 'plan 1. Do nothing.')
    const third = await until('a third plan', async () =>
      (await listed(session)).find(({ request }) => request.plan === '1. Do nothing.'),
    )
    await reply(session, third, 'approve')
    const run = await ended(session)
    expect(texts(run).map(text => String(text).slice(0, 9))).toEqual(['plan: no ', 'plan: no ', 'plan: yes'])
    expect([outcomeOf(run), typesOf(run).filter(type => type === 'run.started')]).toEqual([
      'completed completed - 1',
      ['run.started'],
    ])
  })

  it('that is rejected ends with its run if that is cancelled', async () => {
    const session = await begin('plan 1. Do it.')
    await reply(session, await onlyInteraction(session), 'hang')
    await until('a refusal', async () =>
      (await test.api.events(session.id)).some(({ data }) => data['role'] === 'assistant'),
    )
    await cancel(session)
    expect(outcomeOf(await ended(session))).toBe('cancelled aborted - 1')
  })
})

describe('other reports of an agent', () => {
  it('are in the log if they have the agreed shape', async () => {
    const delegated = { delegationId: 'd1', status: 'completed', summary: 'found it', secret: 'x' }
    const script = [
      'say before',
      'tell context_compacted {"tokensBefore": 900, "tokensAfter": 100}',
      'tell context_compacted {"tokensBefore": -1}',
      'tell conversation_cleared',
      'tell timeline_truncated {"droppedEvents": 2, "reason": "lost"}',
      'tell no_such_event {}',
      'tell delegation_started {"delegationId": "d1", "task": "Look", "agent": "finder", "secret": "x"}',
      'tell delegation_started {"delegationId": "d1"}',
      'delegated d1 look',
      `tell delegation_completed ${JSON.stringify(delegated)}`,
    ]
    const run = await ended(await begin(script.join('\n')))
    expect(
      run.events.filter(event => !/run\.|artifact/.test(event.type)).map(({ type, data }) => [type, data]),
    ).toMatchObject([
      ['svc.message.created', { text: 'before' }],
      ['svc.context.compacted', { tokensBefore: 900, tokensAfter: 100 }],
      ['svc.conversation.cleared', {}],
      ['svc.timeline.truncated', { droppedEvents: 2, reason: 'lost' }],
      ['svc.delegation.started', { delegationId: 'd1', task: 'Look', agent: 'finder' }],
      ['svc.activity.completed', {}],
      ['svc.delegation.completed', { delegationId: 'd1', status: 'completed', summary: 'found it' }],
    ])
    const progress = run.events.filter(event => event.type === 'svc.run.progress')
    expect(progress.map(event => event.data['delegationId'])).toEqual(['d1', 'd1'])
  })
})

import type { Session } from '@berth/contract'
import { refuses, says } from '@berth/testing/models/scripted-upstream.ts'
import { endedRun } from '@berth/testing/runs/ended-run.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

let service: GatewayService
beforeAll(async () => {
  service = await startGatewayService({
    variables: { BERTH_ROLES: 'api,gateway,worker' },
    models: { default: 'main/m1', aliases: { small: 'spare/m1' } },
  })
  service.upstream.next(says({ text: 'Done.' }))
})
afterAll(() => service[Symbol.asyncDispose]())

const ended = (session: Session, runId = session.activeRunId ?? '') => endedRun(service.test.api, session, runId)
const titleOf = async ({ id }: Session) => (await service.test.api.session(id)).title

test('the small model names a session once, by its first message', async () => {
  const { api } = service.test
  service.spare.next(says({ text: '"Mend **the** adder"\n' }), says({ text: 'Another' }))
  const session = await api.createSession({}, '/plan\nPlease fix the failing test in add.js. Thanks')
  expect(session.title).toBe('Please fix the failing test in add.js')
  const { run } = await ended(session)
  expect(run).toMatchObject({ status: 'completed', turns: 1 })
  expect(await titleOf(session)).toBe('Mend the adder')
  const [request, ...more] = service.spare.requests
  expect(more).toEqual([])
  expect(request?.text).toContain('Give the task below a title')
  expect(request?.text).toContain('Please fix the failing test in add.js. Thanks')
  expect(request?.text).not.toContain('/plan')
  const { run: second } = await api.submitTurn(session.id, 'And the other')
  await ended(session, second.id)
  expect(service.spare.requests).toHaveLength(1)
  expect(await titleOf(session)).toBe('Mend the adder')
})

test('a title that somebody gives before or meanwhile stays, and so does one that no model betters', async () => {
  const { api } = service.test
  const before = service.spare.requests.length
  const given = await api.createSession({ title: 'Mine' }, 'Look')
  await ended(given)
  expect(service.spare.requests).toHaveLength(before)
  expect(await titleOf(given)).toBe('Mine')

  const { promise: id, resolve } = Promise.withResolvers<string>()
  service.spare.next(async (request, response) => {
    await api.call('PATCH', `/v1/sessions/${await id}`, { title: 'Ours' })
    await says({ text: 'Theirs' })(request, response)
  }, refuses(400))
  const renamed = await api.createSession({}, 'Look')
  resolve(renamed.id)
  await ended(renamed)
  expect(await titleOf(renamed)).toBe('Ours')

  const unnamed = await api.createSession({}, 'Look again. Here')
  expect((await ended(unnamed)).run.status).toBe('completed')
  expect(await titleOf(unnamed)).toBe('Look again')
})

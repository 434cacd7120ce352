import { sendJson } from '@berth/client/testing'
import { expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { Home } from './people-service.ts'
import { ScriptedService, session } from './scripted-service.ts'

const interaction = {
  id: '0191d5a0-0000-7000-8000-0000000000bb',
  sessionId: session.id,
  runId: '0191d5a0-0000-7000-8000-0000000000aa',
  kind: 'approval',
  status: 'open',
  request: { approval: { requestId: 'r', toolName: 'execute', title: 'make deploy', deadline: 0 } },
}

test('a question that opens while somebody attaches comes after the words before it', async () => {
  await using home = await Home.make()
  const requested = Promise.withResolvers<void>()
  let listed = false
  await using service = await ScriptedService.start(({ method, path }, response) => {
    if (method !== 'GET') return undefined
    if (path.endsWith('/interactions')) {
      listed = true
      return sendJson(response, 200, { interactions: [interaction] }) ?? true
    }
    if (path !== `/v1/sessions/${session.id}` || !listed) return undefined
    requested.resolve()
    return sendJson(response, 200, { session: { ...session, lastEventSequence: 2 } }) ?? true
  })
  const it = new BerthProcess(['attach', session.id], {
    cwd: home.path,
    env: service.env,
    stdin: null,
    terminal: true,
  })
  await Promise.race([requested.promise, it.shows('stdout', 'Allow it?')])
  service.append('svc.message.created', { role: 'assistant', text: 'First I look around.' })
  service.append('svc.interaction.opened', { interactionId: interaction.id, kind: 'approval' })
  await it.shows('stdout', 'Allow it?')
  await it.shows('stdout', 'First I look around.')
  expect(it.stdout.indexOf('First I look around.')).toBeLessThan(it.stdout.indexOf('Allow it?'))
  it.key('\u0003\r')
  await it.ended()
})

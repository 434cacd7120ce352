import type { Event } from '@berth/contract'
import { callTool, connectOverHttp, followByTool } from '@berth/testing/mcp/tool-client.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

let service: GatewayService
beforeAll(async () => {
  service = await startGatewayService({
    variables: { BERTH_ROLES: 'api,gateway,worker' },
    models: { default: 'main/m1' },
  })
})
afterAll(() => service[Symbol.asyncDispose]())

it('a message that steers reaches the agent at work, and another is refused meanwhile', async () => {
  const { test, upstream } = service
  upstream.next(
    says({ calls: [{ name: 'bash', args: { command: 'until [ -e go ]; do sleep 0.02; done' } }] }),
    says({ text: 'Done your way.' }),
  )
  const client = await connectOverHttp(test.url, test.tenant.apiKey)
  const { sessionId } = await callTool(client, 'start_session', { message: 'Begin' })
  const typesOf = async () => {
    const { body } = await test.api.get<{ events: Event[] }>(`/v1/sessions/${sessionId}/events`)
    return body.events.map(({ type }) => type)
  }
  await until('the command to run', async () => (await typesOf()).includes('svc.run.progress'))
  await expect(callTool(client, 'send_message', { sessionId, message: 'Next' })).rejects.toThrow(
    'cloud_run_in_progress',
  )
  const { runId } = await callTool(client, 'follow_session', { sessionId, seconds: 0 })
  const steered = await callTool(client, 'send_message', { sessionId, message: 'Rather this way', steer: true })
  expect(steered['runId']).toBe(runId)
  await touch(test.db.database, test.dataDir, await test.api.session(String(sessionId)), 'go')
  const end = await followByTool(client, sessionId, steered['sequence'])
  expect(end).toMatchObject({
    text: expect.stringContaining('Done your way.'),
    ended: { runId, status: 'completed' },
  })
  expect(await typesOf()).toContain('svc.turn.steered')
  expect(JSON.stringify(upstream.requests.at(-1)?.body)).toContain('Rather this way')
  await client.close()
})

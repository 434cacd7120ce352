import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Environments } from '@berth/testing/environments/environments.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { activitiesOf, endedRun, messagesOf, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

const searchKey = 'sk-search-0123456789'
const queries: { readonly key: string | undefined; readonly body: string }[] = []
const stack = new AsyncDisposableStack()
let service: GatewayService
beforeAll(async () => {
  const provider = createServer(async (request, response) => {
    queries.push({ key: request.headers.authorization, body: await text(request) })
    const results = [{ title: 'Tills', url: 'https://till.example/', content: 'All of them.' }]
    response.end(JSON.stringify({ results }))
  }).listen(0, '127.0.0.1')
  stack.defer(() => void provider.close().closeAllConnections())
  await once(provider, 'listening')
  const { port } = provider.address() as AddressInfo
  service = stack.use(
    await startGatewayService({
      variables: { BERTH_ROLES: 'api,gateway,worker' },
      models: { default: 'main/m1' },
      search: { kind: 'json', url: `http://127.0.0.1:${port}/search`, apiKey: searchKey },
    }),
  )
})
afterAll(() => stack.disposeAsync())

const call = (name: string, args: Readonly<Record<string, unknown>>) => says({ calls: [{ name, args }] })

test('the agent in its sandbox searches the web by the provider of the operator, whose key it never sees', async () => {
  const look = `env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; grep -r ${searchKey.slice(0, 9)} ~ /workspace; true`
  service.upstream.next(
    call('web_search', { query: 'all tills' }),
    call('bash', { command: look }),
    says({ text: 'Two.' }),
  )
  const session = await service.test.api.createSession({}, 'Find tills')
  const run = await endedRun(service.test.api, session, session.activeRunId ?? '')
  expect(outcomeOf(run)).toBe('completed completed - 1')
  expect(queries).toEqual([{ key: `Bearer ${searchKey}`, body: expect.stringContaining('all tills') }])
  const [found] = activitiesOf(run)
  expect(found).toMatchObject({
    name: 'web_search',
    status: 'succeeded',
    output: expect.stringContaining('https://till.example/'),
  })
  expect(JSON.stringify(run.events)).not.toContain(searchKey)
  expect(JSON.stringify(service.upstream.requests.map(({ body }) => body))).not.toContain(searchKey)
})

test('the quick checks of the environment run in the sandbox before the end, and the others do not', async () => {
  const environments = new Environments(service.test.api)
  const { id, document } = await environments.make()
  const checks = [
    { name: 'lint', run: 'grep -q good a.txt || { echo a.txt is bad; exit 3; }', quick: true },
    { name: 'unit', run: 'exit 1' },
  ]
  expect((await environments.put(id, { ...document, checks }, 1)).status).toBe(200)
  service.upstream.next(
    call('write', { path: 'a.txt', content: 'so so' }),
    says({ text: '# Add a' }),
    call('write', { path: 'a.txt', content: 'good' }),
    says({ text: '# Add a good a' }),
  )
  const session = await service.test.api.createSession({ environment: { id } }, 'Write a.txt')
  const run = await endedRun(service.test.api, session, session.activeRunId ?? '')
  expect(outcomeOf(run)).toBe('completed completed - 1')
  expect(JSON.stringify(service.upstream.requests.at(-2)?.body)).toContain('`lint` failed with exit code 3')
  const last = messagesOf(run).at(-1)
  expect(last?.text).toMatch(/^# Add a good a\n\nQuick checks .*\n\n- `lint` passed in [\d.]+ s$/)
  expect(run.run.result?.summary).toBe(last?.text)
})

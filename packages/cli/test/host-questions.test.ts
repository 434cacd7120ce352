import { AskingHosts, fetchFrom } from '@berth/testing/environments/asking-hosts.ts'
import { callTool, connectOverHttp, followByTool } from '@berth/testing/mcp/tool-client.ts'
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'

const stack = new AsyncDisposableStack()
let hosts: AskingHosts
beforeAll(async () => {
  hosts = stack.use(await AskingHosts.open())
  await hosts.startWorker(stack)
})
afterAll(() => stack.disposeAsync())

const ask = { mode: 'ask', hosts: [] }

test('an agent decides about a host by tools, and the connection that waits goes on', async () => {
  const client = await connectOverHttp(hosts.test.url, hosts.test.tenant.apiKey)
  stack.defer(() => client.close())
  const script = ['one', 'two', 'three'].map(name => fetchFrom(`${name}.example.org`, '-A npm/10.9')).join(';')
  const { id: sessionId, ...session } = await hosts.session(ask, script)
  let after: unknown = 0
  for (const [name, decision, outcome] of [
    ['one', 'allow_once', 'approved'],
    ['two', 'deny', 'denied'],
    ['three', 'allow_project', 'project_allowed'],
  ]) {
    const news = await followByTool(client, sessionId, after)
    expect(news.text).toContain(`npm wants to reach ${name}.example.org:80`)
    after = news['sequence']
    expect(await callTool(client, 'decide_approval', { sessionId, decision })).toMatchObject({ outcome })
  }
  const { output } = await hosts.ended({ id: sessionId, ...session })
  expect(output).toMatch(/^reached one\.example\.org\n.*a person refused two\.example\.org:80.*\nreached three/s)
})

test('a person decides about a host in a terminal, and the connection that waits goes on', async () => {
  const script = ['first', 'second', 'third'].map(name => fetchFrom(`${name}.example.org`, '-A pip/24')).join(';')
  const session = await hosts.session(ask, script)
  const main = new URL('../dist/berth.js', import.meta.url).pathname
  const it = new BerthProcess(['attach', session.id], {
    cwd: hosts.test.dataDir,
    env: { BERTH_URL: hosts.test.url, BERTH_API_KEY: hosts.test.tenant.apiKey },
    stdin: null,
    terminal: true,
    command: [`sh -c 'stty rows 30 cols 100; exec "$0" "$@"' ${process.execPath}`, main],
  })
  onTestFailed(() => console.error(JSON.stringify(it.stdout).slice(-6000)))
  await it.shows('stdout', /pip wants to reach first\.example\.org:80.*Allow it\?.*p for the environment/s)
  it.key('y\r')
  await it.shows('stdout', /pip wants to reach second\.example\.org:80.*Allow it\?/s)
  it.key('p\r')
  await it.shows('stdout', /pip wants to reach third\.example\.org:80.*Allow it\?/s)
  await hosts.decide(session, await hosts.onlyOpen(session), 'allow_project')
  await it.shows('stdout', /Somebody else was first: allowed for the environment.*completed/s)
  const reached = ['first', 'second', 'third'].map(name => `reached ${name}.example.org\n`)
  expect((await hosts.ended(session)).output).toBe(reached.join(''))
  it.key('\u0004')
  expect(await it.ended()).toBe(0)
})

import { createHash } from 'node:crypto'
import type { Event } from '@berth/contract'
import { linkTestedAgents } from '@berth/testing/agents/foreign-agents.ts'
import { AptRepository } from '@berth/testing/environments/apt-repository.ts'
import { uploadTo } from '@berth/testing/environments/archives.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { extensionOf } from '@berth/testing/environments/zip.ts'
import { localRepository } from '@berth/testing/git/local-repository.ts'
import { anthropicWire } from '@berth/testing/models/anthropic-wire.ts'
import { geminiWire } from '@berth/testing/models/gemini-wire.ts'
import type { WireFormat } from '@berth/testing/models/model-server.ts'
import { openaiWire } from '@berth/testing/models/openai-wire.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '@berth/testing/models/scripted-upstream.ts'
import { allowAll } from '@berth/testing/services/allow-all.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let test: TestService
let upstream: ScriptedUpstream
let environmentId: string
let source: { grantId: string; repositoryId: string }

/** An MCP server in one file: a real one as far as agents can tell. Its tool says what it was started with. */
const server = `
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
const { TOKEN, PLUGIN_ROOT } = process.env
const packaged = '/usr/share/berth-words/hello'
const found = [
  existsSync(packaged) ? readFileSync(packaged, 'utf8').trim() : 'no package',
  existsSync('/workspace/project/words.txt') ? 'a checkout' : 'no checkout',
  existsSync('/workspace/set-up') ? 'set up' : 'not set up',
].join(', ')
const tool = { name: 'harbour_depth', description: 'Measures the harbour', inputSchema: { type: 'object', properties: {} } }
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const result =
    method === 'initialize'
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'depth', version: '1.0.0' } }
      : method === 'tools/list'
        ? { tools: [tool] }
        : method === 'tools/call'
          ? { content: [{ type: 'text', text: 'depth ' + (TOKEN === 'a-secret-of-the-test') + ' ' + PLUGIN_ROOT + ': ' + found }] }
          : {}
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
}
`
const skill = '---\nname: tide-tables\ndescription: Reads the tide tables of Kirkwall\n---\nLook them up.\n'
// biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholders of extensions are written like this.
const [root, token, lacking] = ['${PLUGIN_ROOT}/server.mjs', '${HARBOUR_TOKEN}', '${NOBODY_GAVE_THIS}']
const servers = {
  depth: { command: 'node', args: [root], env: { TOKEN: token } },
  broken: { command: '/nowhere/to/be/found' },
  needy: { command: 'node', env: { KEY: lacking } },
  quiet: { type: 'sse', url: 'http://127.0.0.1:9/sse' },
}

beforeAll(async () => {
  upstream = stack.use(await startScriptedUpstream())
  const words = { name: 'berth-words', files: { '/usr/share/berth-words/hello': 'a package\n' } }
  const packages = stack.use(await AptRepository.open([words]))
  const models = [{ id: 'm1', contextTokens: 128_000, outputTokens: 8192, reasoning: true }]
  const provider = { apiKey: 'sk-of-the-test', models }
  test = stack.use(
    await startTestService({
      // The agents alone take 400 MB.
      variables: {
        BERTH_SANDBOX_MEMORY_BYTES: String(1536 * 1024 ** 2),
        BERTH_PACKAGE_SOURCES: packages.sources,
      },
      fixed: { agentStartMs: 240_000 },
      config: {
        providers: [
          { id: 'main', kind: 'openai', baseUrl: upstream.baseUrl, ...provider },
          { id: 'claude', kind: 'anthropic', baseUrl: upstream.baseUrl, ...provider },
          { id: 'google', kind: 'google', baseUrl: `${upstream.baseUrl}beta`, ...provider },
        ],
        models: { default: 'main/m1' },
      },
      prepare: linkTestedAgents,
    }),
  )
  const { grantId, repository } = await localRepository(test, 'kirkwall/harbour', { 'words.txt': 'harbour' })
  source = { grantId, repositoryId: repository.repositoryId }
  const environments = new Environments(test.api)
  const { id, document } = await environments.make()
  environmentId = id
  await environments.writeSecret(id, 'HARBOUR_TOKEN', 'a-secret-of-the-test', 1)
  const content = extensionOf({ id: 'harbour', contributes: { mcpServers: servers } }, [
    { name: 'skills/tide-tables/SKILL.md', content: skill },
    { name: 'server.mjs', content: server },
  ])
  const sha256 = createHash('sha256').update(content).digest('hex')
  expect((await uploadTo(test.api, id, sha256, content)).status).toBe(201)
  const named = {
    ...document,
    secrets: undefined,
    packages: ['berth-words'],
    setup: 'touch /workspace/set-up',
    extensions: [{ archive: `sha256:${sha256}` }],
  }
  expect((await environments.put(id, named, 2)).status).toBe(200)
}, 600_000)
afterAll(() => stack.disposeAsync())

interface Agent {
  readonly runtime: string
  readonly wire: WireFormat
  /** What the model is told of the server's tool. */
  readonly tool: string
  /** The tool's name, where the model can call it at once. */
  readonly call?: string
  /** Whether the agent speaks with servers that send events. */
  readonly speaksSse: boolean
}

const agents: readonly Agent[] = [
  {
    runtime: 'native',
    wire: openaiWire,
    tool: 'Measures the harbour',
    call: 'mcp__harbour_depth__harbour_depth',
    speaksSse: true,
  },
  {
    runtime: 'opencode',
    wire: openaiWire,
    tool: 'Measures the harbour',
    call: 'harbour_depth_harbour_depth',
    speaksSse: true,
  },
  { runtime: 'codex', wire: openaiWire, tool: 'Measures the harbour', speaksSse: false },
  // Its tools of servers wait behind a search, by their names.
  { runtime: 'claude-code', wire: anthropicWire, tool: 'mcp__harbour_depth__harbour_depth', speaksSse: true },
  {
    runtime: 'gemini',
    wire: geminiWire,
    tool: 'Measures the harbour',
    call: 'mcp_harbour.depth_harbour_depth',
    speaksSse: true,
  },
]

const data = (events: readonly Event[], type: string) =>
  events.filter(event => event.type === `svc.${type}`).map(event => event.data)

describe('an environment of a Session on a repository', () => {
  it.each(agents)(
    'reaches the model of $runtime: its packages, its setup, its skill and its server',
    { timeout: 400_000 },
    async agent => {
      const { runtime, wire, tool, call, speaksSse } = agent
      const before = upstream.requests.length
      let called = false
      upstream.next((request, response) => {
        const { tools = [] } = request.body as { tools?: unknown[] }
        const calls = call !== undefined && !called && JSON.stringify(tools).includes(call)
        called ||= calls
        const text = tools.length > 0 ? 'Done.' : '{"title":"A title"}'
        wire.write(calls ? { calls: [{ name: call, args: {} }] } : { text }, request, response)
      })
      const session = await test.api.createSession(
        { runtime, source, environment: { id: environmentId } },
        'How deep is it?',
      )
      await using _person = allowAll(test.api, session.id)
      const events = await test.api.runEnded(session.id, session.activeRunId ?? '', 240_000)
      const [, applied] = data(events, 'environment.apply')
      expect(applied).toMatchObject({
        status: 'succeeded',
        extensions: [
          { id: 'harbour', version: '1.2.3', state: 'active', reason: expect.stringMatching(/needy.*NOBODY/) },
        ],
      })
      expect(events.at(-1)).toMatchObject({ type: 'svc.run.completed' })
      const requests = JSON.stringify(upstream.requests.slice(before).map(({ body }) => body))
      expect(requests).toContain('tide-tables')
      expect(requests).toContain(tool)
      if (call !== undefined) {
        expect(requests).toContain('depth true /opt/extensions/harbour: a package, a checkout, set up')
      }
      const left = data(events, 'activity.completed').filter(({ name }) => name === 'mcp')
      expect(left.map(({ title }) => title)).toEqual(speaksSse ? [] : [expect.stringContaining('harbour.quiet')])
      expect(JSON.stringify(events)).not.toContain('a-secret-of-the-test')
    },
  )
})

import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { callsOf, type Engine, openEngine } from './support/engine.ts'
import { startEventToolServer } from './support/event-tool-server.ts'
import { startHttpToolServer } from './support/http-tool-server.ts'
import { call, inputOf, toolsOf } from './support/scripted-gateway.ts'
import { until } from './support/until.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const program = (name: string) => fileURLToPath(new URL(`./support/${name}`, import.meta.url))
const stdio = (name: string, file: string, ...args: string[]) => ({
  name,
  command: process.execPath,
  args: [program(file), ...args],
  env: [{ name: 'TOOL_TOKEN', value: 'token-of-the-tools' }],
})

const serverTools = (request: Parameters<typeof toolsOf>[0]) =>
  toolsOf(request).filter(name => name.startsWith('mcp__'))

test('an MCP server on stdio has its tools called, and the model and people see the results', async () => {
  engine = await openEngine({
    model: { input_modalities: ['text', 'image'] },
    mcpServers: [stdio('tools', 'stdio-tool-server.ts')],
  })
  engine.gateway.next(
    call('mcp__tools__add', { a: 1, b: 2 }),
    call('mcp__tools__look', {}),
    call('mcp__tools__refuse', {}),
    call('mcp__tools__surroundings', {}),
    call('mcp__tools__add', { a: 'one' }),
    { text: 'done' },
  )
  const { updates } = await engine.prompt('go')
  const surroundings = { cwd: engine.workspace, token: 'token-of-the-tools', home: engine.home }
  expect(callsOf(updates)).toEqual([
    { call: 'mcp__tools__add completed', text: '{\n  "sum": 3\n}' },
    {
      call: 'mcp__tools__look completed',
      text: 'docs://one:\nChapter one\n[resource two: docs://two]\n[audio of type audio/wav, 4 bytes in base64: left out]',
    },
    { call: 'mcp__tools__refuse failed', text: 'The shelf is empty.' },
    { call: 'mcp__tools__surroundings completed', text: JSON.stringify(surroundings) },
    { call: 'mcp__tools__add failed', text: expect.stringContaining('must be number') },
  ])
  const begun = updates.find(update => update.sessionUpdate === 'tool_call')
  expect(begun).toMatchObject({ title: 'tools: Add numbers', kind: 'read' })
  const [first, , afterList] = engine.gateway.requests
  expect(serverTools(first)).toEqual(
    ['add', 'grow', 'look', 'pick', 'refuse', 'surroundings'].map(name => `mcp__tools__${name}`),
  )
  expect(inputOf(first)).toContain('Adds two numbers')
  expect(inputOf(first)).toContain('MCP server tools says of itself:\\nAdd numbers with add.')
  expect(inputOf(afterList)).toContain('data:image/png;base64,')
})
test('an MCP server over HTTP on loopback has its tools called', async () => {
  await using http = await startHttpToolServer()
  engine = await openEngine({
    mcpServers: [
      { name: 'tools', type: 'http', url: http.url, headers: [{ name: 'x-key', value: 'key-of-the-tools' }] },
    ],
  })
  engine.gateway.next(call('mcp__tools__add', { a: 1, b: 2 }), { text: 'done' })
  const { updates } = await engine.prompt('go')
  expect(callsOf(updates)).toEqual([{ call: 'mcp__tools__add completed', text: '{\n  "sum": 3\n}' }])
  expect(http.requests.every(headers => headers['x-key'] === 'key-of-the-tools')).toBe(true)
})

test('a server on another host is reached through the proxy of the environment', async () => {
  await using http = await startHttpToolServer()
  const requests: string[] = []
  const proxy = createServer()
  proxy.on('connect', ({ url = '' }, socket) => {
    requests.push(url)
    const upstream = connect(Number(new URL(http.url).port), '127.0.0.1')
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    void pipeline(socket, upstream, socket).catch(() => undefined)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const { port } = proxy.address() as AddressInfo
  engine = await openEngine({
    mcpServers: [{ name: 'tools', type: 'http', url: 'http://tools.example/mcp', headers: [] }],
    env: { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: `http://127.0.0.1:${port}`, NO_PROXY: '127.0.0.1' },
  })
  engine.gateway.next(call('mcp__tools__add', { a: 1, b: 2 }), { text: 'done' })
  expect(callsOf((await engine.prompt('go')).updates)).toMatchObject([{ call: 'mcp__tools__add completed' }])
  expect(new Set(requests)).toEqual(new Set(['tools.example:80']))
  await engine.kill()
  proxy.close()
})

test('an HTTP server that drops its response fails the call at once, and is back with the next prompt', async () => {
  await using http = await startHttpToolServer()
  await using events = await startEventToolServer()
  engine = await openEngine({
    mcpServers: [
      { name: 'web', type: 'http', url: http.url, headers: [] },
      { name: 'events', type: 'sse', url: events.url, headers: [] },
    ],
  })
  engine.gateway.next(
    call('mcp__events__here', {}),
    call('mcp__events__gone', {}),
    call('mcp__web__refuse', {}),
    call('mcp__web__add', { a: 1, b: 2 }),
    { text: 'done' },
  )
  expect(callsOf((await engine.prompt('go')).updates)).toMatchObject([
    { call: 'mcp__events__here completed' },
    { call: 'mcp__events__gone failed', text: expect.stringContaining('MCP server events: SSE error') },
    { call: 'mcp__web__refuse failed', text: 'MCP server web: the response ended without an answer' },
    { call: 'mcp__web__add completed' },
  ])
  engine.gateway.next(call('mcp__events__here', {}), { text: 'done' })
  expect(callsOf((await engine.prompt('again')).updates)).toMatchObject([
    { call: 'mcp_server failed', text: expect.stringContaining('MCP server events: SSE error') },
    { call: 'mcp__events__here completed' },
  ])
})

test('the workspace may name servers, and those given in the protocol take precedence', async () => {
  engine = await openEngine({
    mcpServers: [stdio('tools', 'stdio-tool-server.ts')],
    env: { WHICH: 'raw-tool-server.ts' },
    prepare(workspace) {
      const raw = { command: process.execPath, args: [program(`\${WHICH}`), `\${FAULT:-none}`] }
      const mcpServers = {
        raw,
        tools: { command: 'false' },
        unset: { command: `\${NOWHERE}` },
        odd: { type: 'carrier-pigeon' },
        none: 'none',
      }
      writeFileSync(join(workspace, '.mcp.json'), JSON.stringify({ mcpServers }))
    },
  })
  engine.gateway.next(call('mcp__raw__wide', {}), call('mcp__tools__add', { a: 2, b: 2 }), { text: 'done' })
  const { updates } = await engine.prompt('go')
  const reason = (server: string, text: string) => ({
    call: 'mcp_server failed',
    text: `MCP server ${server}: .mcp.json: ${text}`,
  })
  expect(callsOf(updates)).toEqual([
    reason('unset', 'the variable NOWHERE is not set'),
    reason('odd', '`type` must be stdio, http or sse'),
    reason('none', 'its entry is not an object'),
    {
      call: 'mcp__raw__wide completed',
      text: expect.stringMatching(/^w{51200}\n\[cut at 2000 lines or 50 KB: the full text is in /),
    },
    { call: 'mcp__tools__add completed', text: '{\n  "sum": 4\n}' },
  ])
  expect(inputOf(engine.gateway.requests[0])).toContain('MCP server unset is not available: .mcp.json: the variable')
})

test('sub-agents have the tools too, plan mode only those that read, and new tools appear at once', async () => {
  await using http = await startHttpToolServer('reject')
  const requests: unknown[] = []
  engine = await openEngine({
    mcpServers: [
      stdio('tools', 'stdio-tool-server.ts'),
      // These two speak only the newest protocol.
      stdio('new', 'stdio-tool-server.ts', 'new'),
      { name: 'web', type: 'http', url: http.url, headers: [] },
    ],
    people: {
      async elicit(request) {
        requests.push(request)
        return { action: 'accept', content: { colour: 'blue' } }
      },
    },
  })
  engine.gateway.next(
    call('delegate', { task: 'Add' }),
    call('mcp__new__add', { a: 1, b: 1 }),
    { text: 'Two.' },
    call('mcp__web__add', { a: 1, b: 2 }),
    call('mcp__tools__pick', {}),
    call('mcp__tools__grow', {}),
    call('mcp__tools__grown', {}),
    { text: 'done' },
  )
  const { updates } = await engine.prompt('go')
  expect(callsOf(updates)).toEqual([
    { call: 'mcp__new__add completed', text: '{\n  "sum": 2\n}' },
    { call: 'delegate completed', text: 'Two.' },
    { call: 'mcp__web__add completed', text: '{\n  "sum": 3\n}' },
    { call: 'mcp__tools__pick completed', text: '{"action":"accept","content":{"colour":"blue"}}' },
    { call: 'mcp__tools__grow completed', text: 'grew' },
    { call: 'mcp__tools__grown completed', text: 'new' },
  ])
  expect(requests).toMatchObject([{ mode: 'form', sessionId: engine.sessionId, message: 'tools asks: Which colour?' }])
  expect(serverTools(engine.gateway.requests[1])).toContain('mcp__web__refuse')
  engine.gateway.next({ text: 'planned' })
  await engine.prompt('/plan\nthink')
  expect(serverTools(engine.gateway.requests.at(-1))).toEqual(['mcp__new__add', 'mcp__tools__add', 'mcp__web__add'])
})

test('a server that fails loses only its own tools, and the reason is reported', async () => {
  const raw = (fault: string) => stdio(fault, 'raw-tool-server.ts', fault)
  const closed = createServer((_, response) => void response.writeHead(503).end('closed today'))
  await once(closed.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}/mcp`
  engine = await openEngine({
    mcpServers: [
      raw('exits'),
      raw('floods'),
      raw('endless'),
      { name: 'missing', command: 'no-such-program', args: [], env: [] },
      { name: 'away', type: 'http', url, headers: [] },
      { name: 'older', type: 'sse', url, headers: [] },
      { name: 'nowhere', type: 'http', url: 'file:///etc/passwd', headers: [] },
      raw('schemas'),
      raw('names'),
      raw('many'),
    ],
  })
  engine.gateway.next(call('mcp__schemas__broken', { rows: [1], name: 'n' }), { text: 'done' })
  const turn = await engine.prompt('go')
  expect(turn.stopReason).toBe('completed')
  const calls = callsOf(turn.updates)
  const reported = calls.slice(0, -1).map(({ call: name, text }) => `${name}: ${text}`)
  const trouble = (server: string, why: string) => `mcp_server failed: MCP server ${server}: ${why}`
  const leftOut = 'tools left out (too many, too large, or without a usable schema): '
  expect(reported.toSorted()).toEqual(
    [
      trouble('exits', 'ended with exit code 3: cannot read ***'),
      trouble('floods', 'writes text to its output that is not MCP'),
      trouble('endless', 'sent a message longer than 16 MiB'),
      trouble('missing', 'cannot be started: no-such-program was not found'),
      trouble('away', 'Error POSTing to endpoint: closed today'),
      trouble('older', 'SSE error: Non-200 status code (503)'),
      trouble('nowhere', 'its URL must begin with http:// or https://'),
      trouble('schemas', `${leftOut}text, list, vast`),
      trouble('names', `${leftOut}a b, (no name), (no name)`),
      trouble(
        'many',
        `${leftOut}${[95, 96, 97, 98, 99, 100, 101, 102].map(n => `tool-${n}`).join(', ')}, and 897 more`,
      ),
    ].toSorted(),
  )
  expect(calls.at(-1)).toMatchObject({ call: 'mcp__schemas__broken completed' })
  const [request] = engine.gateway.requests
  const names = toolsOf(request)
  const own = names.filter(name => !/^mcp__(many|names)/.test(name))
  expect(own).toEqual(
    [
      ...['bash', 'delegate', 'edit', 'list', 'mcp__schemas__broken', 'present_file', 'read'],
      ...['background', 'fetch', 'search', 'todo', 'write', 'ask_user'],
    ].toSorted(),
  )
  expect(names.filter(name => name.startsWith('mcp__names'))).toHaveLength(4)
  expect(inputOf(request)).not.toContain('https://example.com/schema.json')
  expect(names.length).toBeLessThanOrEqual(128)
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
  expect(inputOf(request)).toContain('MCP server missing is not available: cannot be started')
  // The next prompt starts the servers again, and the same failure is not reported twice.
  engine.gateway.next({ text: 'done' })
  expect(callsOf((await engine.prompt('again')).updates)).toEqual([])
  closed.close()
})

test('a call fails if its server dies, and the next prompt starts the server again', async () => {
  const cancelled = join(mkdtempSync(join(tmpdir(), 'berth-cancelled-')), 'cancelled')
  const raw = stdio('raw', 'raw-tool-server.ts', 'stays')
  engine = await openEngine({
    mcpServers: [{ ...raw, env: [{ name: 'CANCELLED', value: cancelled }] }],
  })
  engine.gateway.next(
    call('mcp__raw__large', {}),
    call('mcp__raw__rubbish', {}),
    call('mcp__raw__pid', {}),
    call('mcp__raw__die', {}),
    call('mcp__raw__pid', {}),
    { text: 'done' },
  )
  const calls = callsOf((await engine.prompt('go')).updates)
  const [large, rubbish, pid, die, gone] = calls
  const [, kept = ''] = large?.text.match(/the full text is in (\S+)\]$/) ?? []
  expect(large?.text.length).toBeLessThan(52_000)
  expect(statSync(kept).size).toBe(5_320_000)
  rmSync(kept)
  expect(rubbish).toMatchObject({ call: 'mcp__raw__rubbish failed', text: expect.stringContaining('MCP server raw:') })
  expect(die).toEqual({ call: 'mcp__raw__die failed', text: 'MCP server raw: ended with exit code 4' })
  expect(gone).toMatchObject({ call: 'mcp__raw__pid failed' })
  expect(serverTools(engine.gateway.requests.at(-1))).toEqual([])

  engine.gateway.next(call('mcp__raw__pid', {}), { text: 'done' })
  const again = callsOf((await engine.prompt('again')).updates)
  expect(again).toMatchObject([
    { call: 'mcp_server failed', text: 'MCP server raw: ended with exit code 4' },
    { call: 'mcp__raw__pid completed', text: expect.not.stringMatching(`^${pid?.text}$`) },
  ])

  engine.gateway.next(call('mcp__raw__wait', {}), { text: 'never said' })
  const waiting = engine.prompt('wait')
  const begun = () =>
    engine.updates.some(update => update.sessionUpdate === 'tool_call' && update.name === 'mcp__raw__wait')
  await until(begun)
  await engine.cancel()
  expect((await waiting).stopReason).toBe('aborted')
  await until(() => existsSync(cancelled))
  // Its processes are gone after the engine ends, although the server ignores SIGTERM.
  process.kill(engine.pid, 'SIGTERM')
  await until(() => !isRunning(Number(again[1]?.text)))
  rmSync(dirname(cancelled), { recursive: true })
})

test('a silent server delays a prompt, a start and a call only up to their limits', async () => {
  engine = await openEngine({
    mcpServers: [stdio('silent', 'raw-tool-server.ts', 'silent')],
    env: { BERTH_ENGINE_MCP_WAIT_MS: '50' },
  })
  engine.gateway.next({ text: 'done' })
  expect((await engine.prompt('go')).stopReason).toBe('completed')
  expect(inputOf(engine.gateway.requests[0])).toContain('MCP server silent is not available: is still starting')
  await engine[Symbol.asyncDispose]()

  engine = await openEngine({
    mcpServers: [stdio('silent', 'raw-tool-server.ts', 'silent')],
    env: { BERTH_ENGINE_MCP_START_MS: '100' },
  })
  engine.gateway.next({ text: 'done' })
  expect(callsOf((await engine.prompt('go')).updates)).toEqual([
    { call: 'mcp_server failed', text: 'MCP server silent: did not start within 0.1 seconds' },
  ])
  await engine[Symbol.asyncDispose]()

  engine = await openEngine({
    mcpServers: [stdio('raw', 'raw-tool-server.ts')],
    env: { BERTH_ENGINE_MCP_CALL_MS: '100' },
  })
  engine.gateway.next(call('mcp__raw__wait', {}), { text: 'done' })
  expect(callsOf((await engine.prompt('go')).updates)).toEqual([
    { call: 'mcp__raw__wait failed', text: 'MCP server raw: did not answer within 0.1 seconds' },
  ])
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

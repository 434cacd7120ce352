import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { callsOf, type Engine, openEngine } from './support/engine.ts'
import { startHttpToolServer } from './support/http-tool-server.ts'
import { call, inputOf, toolsOf } from './support/scripted-gateway.ts'

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

describe('a server of tools', () => {
  test('over its input and output has its tools called, as the model and people see them', async () => {
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
    const [first, , afterLook] = engine.gateway.requests
    expect(serverTools(first)).toEqual(
      ['add', 'grow', 'look', 'pick', 'refuse', 'surroundings'].map(name => `mcp__tools__${name}`),
    )
    expect(inputOf(first)).toContain('Adds two numbers')
    expect(inputOf(first)).toContain('MCP server tools says of itself:\\nAdd numbers with add.')
    expect(inputOf(afterLook)).toContain('data:image/png;base64,')
  })
})

test('a server over HTTP, on loopback, has its tools called', async () => {
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

test('the workspace names servers of its own, and those of the protocol win', async () => {
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
    reason('odd', '`type` is none of stdio, http and sse'),
    reason('none', 'its entry is no object'),
    {
      call: 'mcp__raw__wide completed',
      text: expect.stringMatching(/^w{51200}\n\[cut at 2000 lines or 50 KB: the whole is in /),
    },
    { call: 'mcp__tools__add completed', text: '{\n  "sum": 4\n}' },
  ])
  expect(inputOf(engine.gateway.requests[0])).toContain('MCP server unset is not available: .mcp.json: the variable')
})

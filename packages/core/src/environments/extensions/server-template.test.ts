// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of extensions are written like this.
import { describe, expect, it } from 'vitest'
import { readServers } from './server-template.ts'

const places = { root: '/opt/extensions/tools', data: '/home/agent/.local/share/extensions/tools' }
const own = { PLUGIN_ROOT: places.root, PLUGIN_DATA: places.data }
const read = (list: unknown) => readServers(list, 'tools', places)

describe('the servers of an extension', () => {
  it('are named by the extension, and its own directories are filled in', () => {
    const list = {
      mcpServers: {
        files: {
          type: 'stdio',
          command: 'node',
          args: ['${PLUGIN_ROOT}/a.mjs', '${CLAUDE_PLUGIN_ROOT}/b', '${extensionPath}/c', '${HOME}'],
          env: { DATA: '${PLUGIN_DATA}', TOKEN: '${TOKEN}' },
        },
        docs: {
          type: 'streamable-http',
          url: 'https://example.test/mcp',
          headers: { authorization: 'Bearer ${TOKEN}' },
        },
        old: { type: 'sse', url: 'https://example.test/sse' },
        gemini: { httpUrl: 'https://example.test/mcp' },
      },
    }
    expect(read(list)).toEqual({
      servers: [
        {
          name: 'tools.files',
          kind: 'stdio',
          command: 'node',
          args: [`${places.root}/a.mjs`, `${places.root}/b`, `${places.root}/c`, '${HOME}'],
          env: { ...own, DATA: places.data, TOKEN: '${TOKEN}' },
        },
        {
          name: 'tools.docs',
          kind: 'http',
          url: 'https://example.test/mcp',
          headers: { authorization: 'Bearer ${TOKEN}' },
        },
        { name: 'tools.old', kind: 'sse', url: 'https://example.test/sse', headers: {} },
        { name: 'tools.gemini', kind: 'http', url: 'https://example.test/mcp', headers: {} },
      ],
      leftOut: [],
    })
  })

  it('start in a directory of their own by a shell, since ACP has no member for one', () => {
    const { servers } = read({ one: { command: './bin/server', args: ['x'], cwd: './data' } })
    const argv = ['-c', 'cd "$1" && shift && exec "$@"', 'sh', `${places.root}/data`, `${places.root}/bin/server`, 'x']
    expect(servers).toEqual([{ name: 'tools.one', kind: 'stdio', command: '/bin/sh', args: argv, env: own }])
  })

  it.each<[unknown, RegExp]>([
    [{ 'a b': { command: 'x' } }, /^MCP server a b: its name/],
    [{ ['n'.repeat(60)]: { command: 'x' } }, /its name/],
    [{ bad: { args: [] } }, /`type`|`url`/],
    [{ bad: { command: '' } }, /`command` is not a string/],
    [{ bad: { command: 'x', args: [1] } }, /`args`/],
    [{ bad: { command: 'x', env: { A: 1 } } }, /`env\.A`/],
    [{ bad: { type: 'websocket', url: 'wss://x' } }, /`type` must be/],
    [{ bad: 'x' }, /not an object/],
  ])('leave out a wrong one and keep the others: %j', (wrong, reason) => {
    const { servers, leftOut } = read({ ...(wrong as object), good: { command: 'x' } })
    expect(servers.map(({ name }) => name)).toEqual(['tools.good'])
    expect(leftOut).toEqual([expect.stringMatching(reason)])
  })
})

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { withoutSecrets } from './server-config.ts'
import { readWorkspaceFile } from './workspace-file.ts'

let workspace: string
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), 'berth-workspace-'))
})
afterEach(() => rmSync(workspace, { recursive: true }))

const variable = (name: string) => ['$', '{', name, '}'].join('')
const read = (content: string, env = {}) => {
  writeFileSync(join(workspace, '.mcp.json'), content)
  return readWorkspaceFile(workspace, env)
}
const readServers = (mcpServers: unknown, env = {}) => read(JSON.stringify({ mcpServers }), env)

describe('the .mcp.json of a workspace', () => {
  test('may be missing or empty', async () => {
    expect(await readWorkspaceFile(workspace, {})).toEqual({ servers: [], problems: [] })
    expect(await read('{}')).toEqual({ servers: [], problems: [] })
  })

  test.each([
    ['invalid JSON', '{ "mcpServers": ', 'it is not valid JSON'],
    ['a list', '[]', 'it is not an object'],
    ['a list of servers', '{ "mcpServers": [] }', '`mcpServers` is not an object'],
    ['too many bytes', ' '.repeat(300_000), 'it has more than 262144 bytes'],
  ])('is reported as one problem if it holds %s', async (_, content, reason) => {
    expect(await read(content)).toEqual({ servers: [], problems: [{ name: '.mcp.json', reason }] })
  })

  test('is reported as a problem if it is a directory', async () => {
    mkdirSync(join(workspace, '.mcp.json'))
    expect((await readWorkspaceFile(workspace, {})).problems).toEqual([
      { name: '.mcp.json', reason: 'it is not a file' },
    ])
  })

  test('names programs and URLs, and expands variables in every text', async () => {
    const env = { TOOLS: '/opt/tools', TOKEN: 'abc', EMPTY: '' }
    const { servers, problems } = await readServers(
      {
        docs: {
          command: `${variable('TOOLS')}/docs`,
          args: ['--port', variable('PORT:-80'), variable('EMPTY:-none')],
          env: { TOKEN: `t-${variable('TOKEN')}` },
        },
        web: {
          type: 'http',
          url: `https://${variable('HOST:-docs.example')}/mcp`,
          headers: { authorization: `Bearer ${variable('TOKEN')}` },
        },
        old: { type: 'sse', url: 'https://docs.example/sse' },
        plain: { url: 'https://docs.example/mcp' },
      },
      env,
    )
    expect(problems).toEqual([])
    expect(servers).toEqual([
      {
        name: 'docs',
        kind: 'stdio',
        command: '/opt/tools/docs',
        args: ['--port', '80', 'none'],
        env: { TOKEN: 't-abc' },
      },
      { name: 'web', kind: 'http', url: 'https://docs.example/mcp', headers: { authorization: 'Bearer abc' } },
      { name: 'old', kind: 'sse', url: 'https://docs.example/sse', headers: {} },
      { name: 'plain', kind: 'http', url: 'https://docs.example/mcp', headers: {} },
    ])
  })

  test.each([
    ['nothing', null, 'its entry is not an object'],
    ['no program', { type: 'stdio' }, '`command` is not a string'],
    ['arguments in one text', { command: 'a', args: 'b c' }, '`args` is not a list of strings'],
    ['a variable that is not a string', { command: 'a', env: { B: 1 } }, '`env.B` is not a string'],
    ['a variable that is not set', { command: 'a', env: { B: variable('B') } }, 'the variable B is not set'],
    ['no address', { type: 'http' }, '`url` is not a string'],
    ['headers in a list', { url: 'https://a.example', headers: [] }, '`headers` is not an object'],
  ])('keeps the other servers if one entry has %s', async (_, odd, reason) => {
    const { servers, problems } = await readServers({ odd, good: { command: 'a' } })
    expect(problems).toEqual([{ name: 'odd', reason: `.mcp.json: ${reason}` }])
    expect(servers.map(({ name }) => name)).toEqual(['good'])
  })
})

test('withoutSecrets masks the values of headers, longest first', () => {
  const headers = { authorization: 'Bearer secret-of-the-docs', accept: 'text' }
  const config = { name: 'web', kind: 'http', url: 'https://docs.example', headers } as const
  expect(withoutSecrets('secret-of-the-docs of Bearer secret-of-the-docs is wrong, text too', config)).toBe(
    '*** of *** is wrong, text too',
  )
})

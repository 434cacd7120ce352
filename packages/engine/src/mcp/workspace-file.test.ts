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

describe('the file of a workspace', () => {
  test('need not be there, and need not name any', async () => {
    expect(await readWorkspaceFile(workspace, {})).toEqual({ servers: [], problems: [] })
    expect(await read('{}')).toEqual({ servers: [], problems: [] })
  })

  test.each([
    ['no JSON', '{ "mcpServers": ', 'it is not valid JSON'],
    ['a list', '[]', 'it is no object'],
    ['a list of servers', '{ "mcpServers": [] }', '`mcpServers` is no object'],
    ['too much', ' '.repeat(300_000), 'it has more than 262144 bytes'],
  ])('that holds %s is one problem', async (_, content, reason) => {
    expect(await read(content)).toEqual({ servers: [], problems: [{ name: '.mcp.json', reason }] })
  })

  test('may be no file at all', async () => {
    mkdirSync(join(workspace, '.mcp.json'))
    expect((await readWorkspaceFile(workspace, {})).problems).toEqual([{ name: '.mcp.json', reason: 'it is no file' }])
  })

  test('names programs and addresses, with variables in every text', async () => {
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
    ['nothing', null, 'its entry is no object'],
    ['no program', { type: 'stdio' }, '`command` is no text'],
    ['arguments in one text', { command: 'a', args: 'b c' }, '`args` is no list of texts'],
    ['a variable that is no text', { command: 'a', env: { B: 1 } }, '`env.B` is no text'],
    ['a variable that is not set', { command: 'a', env: { B: variable('B') } }, 'the variable B is not set'],
    ['no address', { type: 'http' }, '`url` is no text'],
    ['headers in a list', { url: 'https://a.example', headers: [] }, '`headers` is no object'],
  ])('that has %s for one keeps the others', async (_, odd, reason) => {
    const { servers, problems } = await readServers({ odd, good: { command: 'a' } })
    expect(problems).toEqual([{ name: 'odd', reason: `.mcp.json: ${reason}` }])
    expect(servers.map(({ name }) => name)).toEqual(['good'])
  })
})

test('what is said of a server holds nothing that it was given in confidence', () => {
  const headers = { authorization: 'Bearer secret-of-the-docs', accept: 'text' }
  const config = { name: 'web', kind: 'http', url: 'https://docs.example', headers } as const
  expect(withoutSecrets('secret-of-the-docs of Bearer secret-of-the-docs is wrong, text too', config)).toBe(
    '*** of *** is wrong, text too',
  )
})

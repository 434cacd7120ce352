import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { startTestService, type TestService } from '@berth/testing/testing.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { Home } from './people-service.ts'

let service: TestService
let home: Home
let key: string
beforeAll(async () => {
  service = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  key = service.api.key
})
afterAll(() => service[Symbol.asyncDispose]())
beforeEach(async () => {
  home = await Home.make()
})
afterEach(() => home[Symbol.asyncDispose]())

interface Ended {
  readonly code: number | string
  readonly out: string
  readonly err: string
}

async function env(args: readonly string[], options: { stdin?: string; key?: string } = {}) {
  const { key: credential = key, ...rest } = options
  const variables = { BERTH_URL: service.url, BERTH_API_KEY: credential }
  const it = new BerthProcess(['env', ...args], { cwd: home.path, env: variables, ...rest })
  const code = await it.ended()
  return { code, out: it.stdout, err: it.stderr } satisfies Ended
}

const at = (name: string) => join(home.path, name)
const read = (name = 'berth.env.json') => JSON.parse(readFileSync(at(name), 'utf8'))
const write = (value: unknown, name = 'berth.env.json') => {
  mkdirSync(dirname(at(name)), { recursive: true })
  writeFileSync(at(name), typeof value === 'string' ? value : JSON.stringify(value))
}
let made = 0
const fresh = () => `env ${++made}`

/** Creates an environment from the file of this directory. */
async function create(document: object = {}): Promise<{ id: string; name: string }> {
  const name = fresh()
  write({ document: { name, ...document } })
  expect(await env(['apply'])).toMatchObject({ code: 0, err: '' })
  return { id: read().id, name }
}

describe('berth env apply', () => {
  test('creates, changes nothing, and updates, and the file follows the revision', async () => {
    const { id, name } = await create({ setup: 'npm ci\n' })
    expect(read()).toEqual({ id, revision: 1, document: { name, setup: 'npm ci\n' } })
    expect((await env(['apply'])).out).toBe(`unchanged ${name}, revision 1\n`)
    write({ ...read(), document: { name, setup: 'npm ci --ignore-scripts\n', variables: { CI: '1' } } })
    const shown = await env(['diff'])
    expect([shown.code, shown.err]).toEqual([1, ''])
    expect(shown.out).toContain('-    "npm ci",\n+    "npm ci --ignore-scripts",\n')
    expect((await env(['apply'])).out).toBe(`updated ${name}, revision 2: setup, variables\n`)
    expect(read().revision).toBe(2)
    expect(await env(['diff'])).toEqual({ code: 0, out: '', err: '' })
    expect((await env(['history'])).out).toMatch(/^ {4}2 .* setup, variables {2}by installation .*\n {4}1 .* created /)
    expect((await env(['restore', '1'])).out).toContain(`restored revision 1 of ${name} as revision 3`)
  })

  test('refuses a file of an older revision, and names the writer, both revisions and the way out', async () => {
    const { name } = await create()
    const mine = read()
    write({ ...mine, document: { name, setup: 'theirs\n' } })
    expect((await env(['apply'])).code).toBe(0)
    write({ ...mine, document: { name, setup: 'mine\n' } })
    const refused = await env(['apply'])
    expect(refused.code).toBe(1)
    expect(refused.err).toMatch(/^berth: installation [0-9a-f-]{36} wrote revision 2 at .* is of revision 1;/)
    expect(read().revision).toBe(1)
    expect((await env(['pull'])).err).toContain('has changes that were not applied')
    write({ ...read(), revision: 2 })
    expect((await env(['apply'])).out).toBe(`updated ${name}, revision 3: setup\n`)
  })

  test('takes over with pull --merge what others changed, line by line, and writes nothing on a conflict', async () => {
    const setup = ['npm ci', 'npm run a', 'npm run b', 'npm run c', 'npm run d'].join('\n')
    const { name } = await create({ setup, variables: { A: '1', B: '1' } })
    const mine = read()
    const theirs = { name, setup: `${setup}1`, variables: { A: '2', B: '1' }, description: 'theirs' }
    write({ ...mine, document: theirs })
    expect((await env(['apply'])).code).toBe(0)
    const changed = { name, setup: setup.replace('npm ci', 'npm ci --offline'), variables: { A: '1', C: '3' } }
    write({ ...mine, document: changed })
    const merged = await env(['pull', '--merge'])
    expect([merged.err, merged.code]).toEqual(['', 0])
    expect(merged.out).toContain(`wrote revision 2 of ${name} to berth.env.json, keeping changes of setup, variables`)
    expect(read()).toMatchObject({
      revision: 2,
      document: {
        setup: `${setup.replace('npm ci', 'npm ci --offline')}1`,
        variables: { A: '2', C: '3' },
        description: 'theirs',
      },
    })
    expect(Object.keys(read().document.variables)).toEqual(['A', 'C'])
    const both = {
      ...mine,
      document: { ...changed, setup: setup.replace('npm run d', 'npm run d2'), variables: { A: '3' } },
    }
    write(both)
    const refused = await env(['pull', '--merge'])
    expect([refused.code, read()]).toEqual([1, both])
    expect(refused.err).toContain('have both changed setup, variables.A since revision 1')
    expect((await env(['pull', '--merge', '--force'])).code).toBe(2)
  })

  test('is no conflict after a revision that changed only secrets', async () => {
    const { name } = await create()
    expect((await env(['secrets', 'set', 'TOKEN'], { stdin: 'a long value\n' })).code).toBe(0)
    write({ ...read(), document: { name, setup: 'true\n' } })
    expect((await env(['apply'])).out).toBe(`updated ${name}, revision 3: setup\n`)
  })

  test('names wrong and unknown members by their paths in the file', async () => {
    write({ document: { name: fresh(), setpu: 'x', variables: { HOME: '/' } } })
    const unknown = await env(['apply'])
    expect([unknown.code, unknown.out]).toEqual([1, ''])
    expect(unknown.err).toMatch(/berth\.env\.json, and nothing has changed.*\n.*document(?:\.setpu)?: /)
    write({ document: { name: fresh(), variables: { HOME: '/' } } })
    expect((await env(['apply'])).err).toContain('document.variables.HOME: is a variable that the platform sets itself')
    write({ name: 'x', document: {} })
    expect(await env(['apply'])).toMatchObject({ code: 2, err: expect.stringContaining('"name" is not a member') })
    write('{')
    expect(await env(['apply'])).toMatchObject({ code: 2, err: expect.stringContaining('berth.env.json is not JSON') })
  })

  test('takes a document of nearly 256 KiB back as it was', async () => {
    const variables = Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`V${i}`, 'x'.repeat(32_768)]))
    const { name } = await create({ variables, setup: 'y'.repeat(32_000) })
    expect((await env(['pull', name, '--file', 'again.json'])).code).toBe(0)
    expect(read('again.json').document).toMatchObject(read().document)
    write({ ...read(), document: { ...read().document, setup: 'y'.repeat(65_000) } })
    expect(await env(['apply'])).toMatchObject({ code: 1, err: expect.stringContaining('document') })
  })

  test('prints warnings', async () => {
    write({ document: { name: fresh(), variables: { API_KEY: 'x' } } })
    expect((await env(['apply'])).err).toMatch(/^warning: document\.variables\.API_KEY looks like a credential/)
  })
})

describe('berth env secrets', () => {
  const value = 'canary-5f1c0b'

  test('writes from a pipe, and no command or file shows the value', async () => {
    const { name } = await create()
    const all = [
      await env(['secrets', 'set', 'TOKEN'], { stdin: `${value}\n` }),
      await env(['secrets', 'set', 'TOKEN', '-e', name, '--json'], { stdin: value }),
      await env(['secrets', 'list']),
      await env(['show', name, '--json']),
      await env(['history', '--json']),
      await env(['pull', '--force']),
    ]
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0])
    expect(all[2]?.out).toBe('TOKEN  version 2  variable\n')
    expect(JSON.stringify(all)).not.toContain(value)
    expect(readFileSync(at('berth.env.json'), 'utf8')).not.toMatch(/canary|secrets/)
    expect((await env(['secrets', 'delete', 'TOKEN'])).out).toContain(`deleted secret TOKEN of ${name}`)
  })

  test('asks in a terminal without showing what is typed', async () => {
    await create()
    const variables = { BERTH_URL: service.url, BERTH_API_KEY: key }
    const args = ['env', 'secrets', 'set', 'TOKEN']
    const child = new BerthProcess(args, { cwd: home.path, env: variables, stdin: null, terminal: true })
    await child.shows('stdout', 'Value of TOKEN (not shown): ')
    child.type(`${value}\r`)
    expect(await child.ended()).toBe(0)
    expect(child.stdout).toContain('wrote secret TOKEN, version 1')
    expect(child.stdout).not.toContain('canary')
  })

  test('keeps a secret at the edge, and changes how it is used without its value', async () => {
    const { name } = await create()
    const place = ['--host', 'api.example.com', '--host', '*.example.org', '--header', 'X-Key']
    const set = await env(['secrets', 'set', 'KEY', '--egress', ...place], { stdin: `${value}\n` })
    expect(set).toMatchObject({ code: 0, out: expect.stringContaining('egress to api.example.com, *.example.org') })
    const narrower = [
      '--keep-value',
      '--host',
      'api.example.com',
      '--header',
      'X-Key',
      '--method',
      'get',
      '--path',
      '/v1',
    ]
    expect(await env(['secrets', 'set', 'KEY', ...narrower])).toMatchObject({ code: 0 })
    expect((await env(['secrets', 'list'])).out).toBe(
      'KEY  version 2  egress to api.example.com; header X-Key: {value}; GET; below /v1\n',
    )
    expect((await env(['show', name])).out).toContain('KEY (version 2, egress to api.example.com; ')
    // A rotation names nothing but the value, and the secret stays where it is.
    await env(['secrets', 'set', 'KEY'], { stdin: `${value}\n` })
    expect(JSON.parse((await env(['secrets', 'list', '--json'])).out)).toMatchObject({
      version: 3,
      exposure: 'egress',
      egress: { hosts: ['api.example.com'], methods: ['GET'], paths: ['/v1'] },
    })
    const wider = await env(['secrets', 'set', 'KEY', '--keep-value', '--variable'])
    expect(wider).toMatchObject({ code: 1, err: expect.stringContaining('enter it again') })
  })

  test('knows where the key of a known service goes, and asks for another', async () => {
    await create()
    const known = await env(['secrets', 'set', 'STRIPE_API_KEY', '--egress'], { stdin: `${value}\n` })
    expect(known).toMatchObject({ code: 0, out: expect.stringContaining('egress to api.stripe.com') })
    const warned = await env(['secrets', 'set', 'NPM_TOKEN'], { stdin: `${value}\n` })
    expect(warned.err).toContain('with the exposure `egress` for registry.npmjs.org')
    for (const [args, message] of [
      [['--egress'], 'say with --host which hosts get KEY'],
      [['--egress', '--host', 'a.example.com'], 'say with --header, --basic or --query'],
      [['--egress', '--host', 'a.example.com', '--header', 'X', '--query', 'key'], 'name one of'],
      [['--egress', '--host', 'a.example.com', '--query', 'key', '--format', '{value}'], '--format needs --header'],
      [['--variable', '--host', 'a.example.com'], 'takes no hosts'],
      [['--keep-value'], 'add --egress or --variable'],
    ] as const) {
      const refused = await env(['secrets', 'set', 'KEY', ...args], { stdin: `${value}\n` })
      expect(refused).toMatchObject({ code: 2, err: expect.stringContaining(message) })
    }
    const strange = ['--egress', '--host', 'API.example.com', '--header', 'X']
    const refused = await env(['secrets', 'set', 'KEY', ...strange], { stdin: `${value}\n` })
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('egress.hosts.0') })
  })

  test('takes no value from the command line, and no empty one', async () => {
    await create()
    expect((await env(['secrets', 'set', 'TOKEN', value])).code).toBe(2)
    expect(await env(['secrets', 'set', 'TOKEN'], { stdin: '\n' })).toMatchObject({ code: 2 })
    expect((await env(['secrets', 'list'])).out).toBe('')
  })
})

test('an environment is archived, made live again and chosen as the default by its name', async () => {
  const { name, id } = await create()
  expect((await env(['archive', name])).out).toContain(`archived ${name}`)
  expect((await env(['list'])).out).not.toContain(id)
  expect((await env(['list', '--archived'])).out).toContain(id)
  expect((await env(['unarchive', id])).out).toBe(`unarchived ${name}\n`)
  expect((await env(['default', name.toUpperCase()])).out).toContain(`${name} is now the default`)
  expect((await env(['archive', name])).err).toContain('choose another default first')
  expect((await env(['default', 'none'])).out).toContain('no environment is now the default')
})

test("another organization's environment is not found, by name, by id or by a file", async () => {
  const { name, id } = await create()
  const foreign = (await service.newTenant()).api.key
  for (const args of [['show', name], ['show', id], ['archive', name], ['history'], ['diff'], ['apply']]) {
    const { code, out, err } = await env(args, { key: foreign })
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain('this organization has no environment')
  }
})

test('import takes commands and variables, and says what it left out', async () => {
  write(
    `{ // comment
      "name": "Web", "image": "node:24", "forwardPorts": [3000],
      "features": { "example.org/features/apt-packages:1": { "packages": "jq, ripgrep" }, "ghcr.io/x/go": {} },
      "containerEnv": { "CI": "1", "BIN": "\${containerEnv:PATH}" },
      "remoteEnv": { "STRIPE_API_KEY": "\${localEnv:STRIPE_API_KEY}" }, "secrets": { "NPM_TOKEN": {}, "OTHER": {} },
      "postCreateCommand": ["npm", "run", "it's"], "onCreateCommand": "npm ci",
    }`,
    '.devcontainer/devcontainer.json',
  )
  const done = await env(['import', '.devcontainer/devcontainer.json'])
  expect(done.code).toBe(0)
  expect(read().document).toEqual({
    name: 'Web',
    setup: "set -e\nnpm ci\nnpm run 'it'\\''s'\n",
    variables: { CI: '1' },
    packages: ['jq', 'ripgrep'],
  })
  const left = [...done.err.matchAll(/^left out: ([\w./]+): /gm)].map(([, member]) => member)
  expect(left).toEqual([
    'containerEnv.BIN',
    'remoteEnv.STRIPE_API_KEY',
    'features.ghcr.io/x/go',
    'secrets.NPM_TOKEN',
    'secrets.OTHER',
    'image',
    'forwardPorts',
  ])
  expect(done.err).toContain('`berth env secrets set STRIPE_API_KEY --egress`, so that api.stripe.com alone')
  expect(done.err).toContain('`berth env secrets set NPM_TOKEN --egress`, so that registry.npmjs.org alone')
  expect(done.err).toContain('`berth env secrets set OTHER`\n')
  write({ install: 'make deps', start: 'make run', terminals: [] }, 'shop/.cursor/environment.json')
  expect((await env(['import', 'shop/.cursor/environment.json'])).err).toContain('exists; replace it with --force')
  const cursor = await env(['import', 'shop/.cursor/environment.json', '--force', '--json'])
  expect(JSON.parse(cursor.out)).toMatchObject({
    document: { name: 'shop', setup: 'set -e\nmake deps\n', variables: {} },
    leftOut: [{ member: 'start' }, { member: 'terminals' }],
  })
})

test('a new session is bound to the environment that run names, and sessions shows it', async () => {
  const { name, id } = await create()
  const variables = { BERTH_URL: service.url, BERTH_API_KEY: key }
  const berth = (...args: string[]) => new BerthProcess(args, { cwd: home.path, env: variables })
  const bound = berth('run', 'hello', '--environment', name, '--title', `with ${name}`)
  expect([await bound.ended(), bound.stderr]).toEqual([0, ''])
  const free = berth('run', 'hello', '--environment', 'none', '--title', `without ${name}`)
  expect([await free.ended(), free.stderr]).toEqual([0, ''])
  const listed = berth('sessions')
  await listed.ended()
  expect(listed.stdout).toContain(`\twith ${name} [${name}]\n`)
  expect(listed.stdout).toContain(`\twithout ${name}\n`)
  const unknown = berth('run', 'hello', '--environment', `${id.slice(0, -4)}0000`)
  expect(await unknown.ended()).toBe(1)
})

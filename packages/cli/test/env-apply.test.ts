import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startTestService, type TestService, until } from '@berth/testing/testing.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { Home } from './people-service.ts'

let service: TestService
let home: Home
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service[Symbol.asyncDispose]())
beforeEach(async () => {
  home = await Home.make()
})
afterEach(() => home[Symbol.asyncDispose]())

const start = (...args: string[]) =>
  new BerthProcess(args, { cwd: home.path, env: { BERTH_URL: service.url, BERTH_API_KEY: service.api.key } })
async function berth(...args: string[]) {
  const it = start(...args)
  const code = await it.ended()
  return { code, out: it.stdout, err: it.stderr }
}
const write = (document: object, name = 'berth.env.json') =>
  writeFileSync(join(home.path, name), JSON.stringify({ document }))

/** Returns what tests have left: leases that live, Sessions that are not closed, and environments that are tests'. */
async function left(): Promise<unknown[]> {
  const { rows } = await service.db.database.query(
    `select 'lease' as kind, id from leases where ended_at is null
     union all select 'session', id from sessions where archived_at is null
     union all select 'environment', id from environments where archived_at is null and name like 'test %'`,
  )
  return rows
}

describe('berth env test, with a sandbox', () => {
  test('applies a file with its log, fails as setup fails, and leaves nothing', async () => {
    write({ name: 'tried', setup: 'echo "for $WHO"; pwd', variables: { WHO: 'people' } })
    const { code, out, err } = await berth('env', 'test', '--file', 'berth.env.json')
    expect([code, err]).toEqual([0, expect.stringContaining('applying revision 1 of test ')])
    expect(out).toMatch(/^for people\n\/workspace\ntest [0-9a-f]{8} of tried, revision 1: succeeded in .*\n$/)
    write({ name: 'tried', setup: 'echo so far; exit 42' })
    const failed = await berth('env', 'test', '--file', 'berth.env.json')
    expect(failed.code).toBe(1)
    expect(failed.out).toMatch(/^so far\n.*: the setup script ended with exit code 42 \(setup_exit_nonzero\)\n$/)
    expect(await left()).toEqual([])
    const { rows } = await service.db.database.query('select count(*)::int as leases from leases')
    // A failed apply is not tried again.
    expect(rows).toEqual([{ leases: 2 }])
  })

  test('is ended by Ctrl-C in the middle of setup, with its sandbox', async () => {
    write({ name: 'slow', setup: 'echo begun; sleep 1000' })
    const it = start('env', 'test', '--file', 'berth.env.json')
    await it.shows('stdout', 'begun\n')
    it.interrupt()
    expect([await it.ended(), await left()]).toEqual([130, []])
  })

  test('tests the newest revision with its secrets, which no output shows', async () => {
    write({ name: 'secretive', setup: 'echo "token: $NPM_TOKEN"; test "$NPM_TOKEN" = canary-70a1' })
    expect((await berth('env', 'apply')).code).toBe(0)
    const set = new BerthProcess(['env', 'secrets', 'set', 'NPM_TOKEN'], {
      cwd: home.path,
      env: { BERTH_URL: service.url, BERTH_API_KEY: service.api.key },
      stdin: 'canary-70a1\n',
    })
    expect(await set.ended()).toBe(0)
    const { code, out, err } = await berth('env', 'test')
    expect([code, err]).toEqual([0, 'berth: applying revision 2 of secretive to a fresh sandbox\n'])
    expect(out).toMatch(/^token: \[secret\]\nsecretive, revision 2: succeeded/)
    expect(await left()).toEqual([])
  })
})

test('a released workspace gets the newest revision with the next turn, and its work back', async () => {
  write({ name: 'released', setup: 'echo one > ~/revision' })
  expect((await berth('env', 'apply')).code).toBe(0)
  const first = await berth('run', 'echo kept > note', '--runtime', 'shell', '--environment', 'released', '--follow')
  expect(first.code).toBe(0)
  const [, session = ''] = first.out.match(/session (\S+)/) ?? []
  await until('the end of sealing', async () => (await service.api.session(session)).phase === 'idle')
  const { id } = JSON.parse(readFileSync(join(home.path, 'berth.env.json'), 'utf8'))
  writeFileSync(
    join(home.path, 'berth.env.json'),
    JSON.stringify({ id, revision: 1, document: { name: 'released', setup: 'echo two > ~/revision' } }),
  )
  expect((await berth('env', 'apply')).out).toContain('updated released, revision 2: setup')
  const turn = () => berth('run', 'cat note ~/revision', '--session', session, '--follow')
  expect((await turn()).out).toContain('kept\\none\\n')
  await until('the end of sealing', async () => (await service.api.session(session)).phase === 'idle')
  expect((await berth('workspace', 'release', session)).code).toBe(0)
  expect((await turn()).out).toContain('kept\\ntwo\\n')
  expect((await service.api.session(session)).environment).toMatchObject({ id, revision: 2 })
  await service.api.call('DELETE', `/v1/sessions/${session}`)
})

describe('the commands of', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))

  /** Runs blocks of shell commands of a page, in a directory that holds the examples. */
  async function follow(page: string, isMeant: (block: string) => boolean): Promise<string> {
    const blocks = [...readFileSync(join(root, page), 'utf8').matchAll(/```sh\n([\s\S]*?)```/g)]
    const commands = blocks.flatMap(([, text = '']) => (isMeant(text) ? [text] : []))
    const program = fileURLToPath(new URL('../dist/berth.js', import.meta.url))
    const shell = [
      'set -euo pipefail',
      `berth() { '${process.execPath}' '${program}' "$@"; }`,
      'npx() { "$@"; }',
      `ln -s '${join(root, 'examples')}' examples`,
      ...commands,
    ].join('\n')
    const { stdout } = await promisify(execFile)('bash', ['-c', shell], {
      cwd: home.path,
      env: { PATH: process.env.PATH, HOME: home.path, BERTH_URL: service.url, BERTH_API_KEY: service.api.key },
    })
    return stdout
  }

  test('README.md lead from an example to a session in it', async () => {
    const out = await follow('README.md', block => block.includes('berth env'))
    expect(out).toContain('installed hello\n')
    expect(out).toContain('created hello, revision 1\n')
    expect(out).toMatch(/svc\.environment\.apply Set up environment “hello” r1 in /)
    expect(out).toContain('hello from setup\\n')
    expect(out).toContain('svc.run.completed')
  })

  test('docs/environments.md lead from a file to the default', async () => {
    const out = await follow('docs/environments.md', block => !block.includes('$SESSION'))
    expect(out).toMatch(/^created web, revision 1\n/)
    expect(out.match(/: succeeded in /g)).toHaveLength(2)
    expect(out).toContain('updated web, revision 2: setup\n')
    expect(out).toContain('restored revision 1 of web as revision 3')
    expect(out).toContain('NPM_TOKEN  version 1  variable\n')
    expect(out).toContain('  egress to api.stripe.com; header Authorization: Bearer {value}\n')
    expect(out).toContain('  egress to api.example.com; header X-Api-Key: {value}; GET; below /v1/orders\n')
    expect(out).toMatch(/unarchived web\n$/)
  })

  test('examples/environments are documents that the service takes without a warning', async () => {
    for (const name of ['hello', 'node']) {
      const { document } = JSON.parse(readFileSync(join(root, `examples/environments/${name}.env.json`), 'utf8'))
      write({ ...document, name: `example ${name}` })
      expect(await berth('env', 'apply')).toMatchObject({ code: 0, err: '' })
    }
  })
})

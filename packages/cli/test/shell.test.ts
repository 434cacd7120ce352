import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '@berth/testing/testing.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { Line } from './line.ts'
import { Home, PeopleService } from './people-service.ts'

const stack = new AsyncDisposableStack()
let line: Line
let service: PeopleService
let home: Home
let sessionId: string
beforeAll(async () => {
  line = stack.use(await Line.open())
  // Terminals are at the console's address.
  const variables = {
    BERTH_ROLES: 'api,account,worker',
    BERTH_CONSOLE_URL: line.url,
    BERTH_PREVIEW_DOMAIN: 'preview.example',
  }
  service = stack.use(await PeopleService.start({ variables }))
  line.port = Number(new URL(service.url).port)
  home = stack.use(await Home.make())
  await home.signIn(service, await service.newPerson())
  const made = await home.run('run', '--runtime', 'shell', '--follow', '--json', 'echo kept > kept.txt')
  expect(made).toMatchObject({ code: 0 })
  sessionId = JSON.parse(made.stdout.split('\n')[0] ?? '').subject.sessionId
  await until('the sandbox at rest', async () => {
    const [row] = await service.query<{ state: string }>('select state from leases where session_id = $1', [sessionId])
    return row?.state === 'attached'
  })
})
afterAll(() => stack.disposeAsync())

/** Runs `berth shell` on a terminal of this size. */
function onTerminal(args: readonly string[], size = 'rows 30 cols 90'): BerthProcess {
  const line = `stty ${size}; tty > tty.txt; exec "$0" "$@"`
  return new BerthProcess(['shell', ...args], {
    cwd: home.path,
    stdin: null,
    terminal: true,
    command: [`sh -c '${line}' ${process.execPath}`, main],
  })
}
const main = new URL('../dist/berth.js', import.meta.url).pathname

const terminals = () =>
  service.query<{ id: string; ended_at: Date | null }>(
    'select id, ended_at from terminals where session_id = $1 order by created_at desc',
    [sessionId],
  )

describe('on a terminal', () => {
  test('the keys reach the shell in the sandbox, its size follows the window, and its exit code is that of berth', async () => {
    const it = onTerminal([sessionId])
    await it.shows('stdout', '$ ')
    it.key('id -un; cat kept.txt; stty size; test -t 0 && echo on-a-"terminal"\r')
    await it.shows('stdout', /agent\s+kept\s+30 90\s+on-a-terminal/)
    execFileSync('stty', [
      '-F',
      (await readFile(join(home.path, 'tty.txt'), 'utf8')).trim(),
      'rows',
      '12',
      'cols',
      '70',
    ])
    it.key('until [ "$(stty size)" = "12 70" ]; do sleep 0.05; done; echo re"sized"\r')
    await it.shows('stdout', /resized\s/)
    // Ctrl-C is the program's, which says itself that it is in front: bash keeps an interrupt from before that.
    it.key(`bash -c 'echo sle"eps"; exec sleep 600'\r`)
    await it.shows('stdout', /sleeps\s/)
    it.key('\u0003')
    it.key('echo st"ill"\r')
    await it.shows('stdout', /still\s/)
    it.key('exit 7\r')
    expect(await it.ended()).toBe(7)
    expect(it.stdout).not.toContain('berth:')
  })

  test('it is left with ~. at the start of a line, and returned to', async () => {
    const it = onTerminal([sessionId])
    await it.shows('stdout', '$ ')
    it.key('mine=$((40 + 2)); echo a~."b"\r')
    await it.shows('stdout', /a~\.b\s/)
    it.key('\r~.')
    expect(await it.ended()).toBe(0)
    const [, id = ''] = /return with `berth shell \S+ --terminal (\S+)`/.exec(it.stdout) ?? []
    expect(await terminals()).toContainEqual({ id, ended_at: null })
    // Modes of full-screen programs do not stay in the window.
    expect(it.stdout).toContain('\u001b[?1049l')

    const back = onTerminal([sessionId, '--terminal', id])
    await back.shows('stdout', /a~\.b\s/)
    back.key('echo "mine=$mine"; exit\r')
    await back.shows('stdout', /mine=42\s/)
    expect(await back.ended()).toBe(0)
  })

  test('what programs print reaches the screen, and neither the title nor the clipboard', async () => {
    const it = onTerminal([sessionId])
    await it.shows('stdout', '$ ')
    it.key(
      `printf 'A\\033]0;title\\007B\\033]52;c;Zm9v\\033\\\\C\\033[31mred\\033[0m\\033Pq~\\033\\\\D\\302\\2358;x\\302\\234E\\n'; exit\r`,
    )
    expect(await it.ended()).toBe(0)
    expect(it.stdout).toContain('ABC\u001b[31mred\u001b[0mDE\r')
    expect(it.stdout).not.toContain('\u001b]')
  })

  test('a terminal that another window takes says so', async () => {
    const it = onTerminal([sessionId])
    await it.shows('stdout', '$ ')
    const id = (await terminals())[0]?.id ?? ''
    const other = onTerminal([sessionId, '--terminal', id])
    expect(await it.ended()).toBe(1)
    expect(it.stdout).toContain(`another window has this terminal now; \`berth shell ${sessionId} --terminal ${id}\``)
    await other.shows('stdout', '$ ')
    other.key('exit\r')
    expect(await other.ended()).toBe(0)
  })

  test('a command runs in place of the shell', async () => {
    const it = onTerminal([sessionId, '--', 'test', '-t', '1'])
    expect(await it.ended()).toBe(0)
    expect(it.stdout).not.toContain('exec bash')
  })
})

describe('in a pipe', () => {
  test('a command gets its arguments as they are, reads what is piped in, and only its output comes out', async () => {
    const words = ['printf', '<%s>', "it's", 'a\tb', 'ü\u202e', '$HOME', '-n', '!x', 'back\\slash']
    const printed = await home.run('shell', sessionId, '--', ...words)
    expect(printed).toEqual({
      code: 0,
      stdout: words
        .slice(2)
        .map(word => `<${word}>`)
        .join(''),
      stderr: '',
    })
    const it = new BerthProcess(['shell', sessionId, '--', 'stty -echo; sort; exit 3'], {
      cwd: home.path,
      stdin: 'b\na\n',
    })
    expect(await it.ended()).toBe(3)
    expect(it.stdout).toMatch(/a\r\nb\r\n$/)
  })

  test('a broken connection is made again, and nothing comes out twice', async () => {
    const script = 'echo on""e; until [ -e go ]; do sleep 0.05; done; echo tw""o'
    const it = home.berth('shell', sessionId, '--', script)
    await it.shows('stdout', 'one')
    line.cut()
    await it.shows('stderr', 'connection lost')
    expect(await home.run('shell', sessionId, '--', 'touch', 'go')).toEqual({ code: 0, stdout: '', stderr: '' })
    const code = await it.ended()
    expect({ code, stdout: it.stdout, stderr: it.stderr }).toEqual({
      code: 0,
      stdout: 'one\r\ntwo\r\n',
      stderr: 'berth: connection lost; reconnecting\n',
    })
  })
})

test('a command that ends while the connection is broken still tells its output and its exit code', async () => {
  const script = 'echo on""e; until [ -e come ]; do sleep 0.05; done; echo tw""o; touch over; exit 3'
  const it = home.berth('shell', sessionId, '--', script)
  await it.shows('stdout', 'one')
  const { port } = line
  line.port = 1
  line.cut()
  await it.shows('stderr', 'connection lost')
  const made = await home.run(
    'run',
    '--session',
    sessionId,
    '--follow',
    'touch come; until [ -e over ]; do sleep 0.05; done',
  )
  expect(made).toMatchObject({ code: 0 })
  line.port = port
  const code = await it.ended()
  expect({ code, stdout: it.stdout }).toEqual({ code: 3, stdout: 'one\r\ntwo\r\n' })
})

test.each([
  ['a terminal that is no more', ['--terminal', randomUUID()], 1, 'that terminal has ended'],
  ['a command in a terminal of before', ['--terminal', randomUUID(), '--', 'ls'], 2, 'takes no command'],
  ['a command of 5,000 characters', ['--', 'x'.repeat(5000)], 2, 'too long for a terminal'],
])('%s is refused', async (_, args, code, text) => {
  const it = await home.run('shell', sessionId, ...args)
  expect(it).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(text) })
})

test('a preview serves the work of a session at rest, says why its command ended, and is ended', async () => {
  const made = await home.run('env', 'apply', '--file', await previewFile())
  expect(made).toMatchObject({ code: 0 })
  const message = `echo "require('node:http').createServer((_, r) => r.end('the shop')).listen(3000)" > shop.cjs; echo 'exec node shop.cjs' > serve.sh`
  const run = await home.run('run', '--runtime', 'shell', '--environment', 'shop', '--follow', '--json', message)
  const id = JSON.parse(run.stdout.split('\n')[0] ?? '').subject.sessionId
  expect(await home.run('workspace', 'release', id)).toMatchObject({ code: 0 })
  const shown = await home.run('preview', id)
  expect(shown).toMatchObject({ code: 0, stderr: expect.stringContaining('berth: port 3000, until ') })
  expect(shown.stdout).toMatch(/^https:\/\/3000-[a-z2-7]{20}\.preview\.example\/\.berth\/open\?ticket=\S+\n$/)
  const { preview, port } = JSON.parse((await home.run('preview', id, '--minutes', '30', '--json')).stdout)
  expect([preview.state, port]).toEqual(['running', 3000])
  expect(Date.parse(preview.endsAt)).toBeGreaterThan(Date.now() + 20 * 60_000)
  expect(await home.run('preview', id, '--end')).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(await home.run('preview', id, '--end')).toMatchObject({
    code: 1,
    stderr: 'berth: the session has no preview\n',
  })
  await home.run('run', '--session', id, '--follow', "echo 'echo no-shop; exit 3' > serve.sh")
  expect(await home.run('preview', id)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/no-shop[\s\S]*the preview's command ended with exit code 3/),
  })
})

/** Writes an environment with a preview. */
async function previewFile(): Promise<string> {
  const path = join(home.path, 'shop.json')
  await writeFile(
    path,
    JSON.stringify({ document: { name: 'shop', preview: { command: '. ./serve.sh', port: 3000 } } }),
  )
  return path
}

test('an API key opens no terminal, and a session without a sandbox names the command that brings it back', async () => {
  const keyed = new BerthProcess(['shell', sessionId], {
    cwd: home.path,
    env: { BERTH_URL: service.url, BERTH_API_KEY: service.test.tenant.apiKey },
  })
  expect(await keyed.ended()).toBe(2)
  expect(keyed.stderr).toContain('a terminal is for people')
  // What a terminal did is sealed before the workspace goes.
  await home.run('shell', sessionId, '--', 'echo more >> kept.txt')
  expect(await home.run('workspace', 'release', sessionId)).toMatchObject({ code: 0, stderr: '' })
  const gone = await home.run('shell', sessionId, '--', 'cat', 'kept.txt')
  expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining(`\`berth shell ${sessionId} --restore\``) })
  const back = await home.run('shell', sessionId, '--restore', '--', 'cat', 'kept.txt')
  expect([back.code, back.stdout]).toEqual([0, 'kept\r\nmore\r\n'])
})

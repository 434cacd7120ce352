import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { spawn } from './testing/spawn.ts'

const root = join(import.meta.dirname, '..')
let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-scripts-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Programs that every script needs. */
const basics = ['bash', 'cat', 'cut', 'dirname', 'sha256sum', 'sort']
const system = ['bwrap', 'flock', 'git', 'mount', 'prlimit', 'setpriv', 'unshare']

/** Prepares a checkout without node_modules, on a machine with only these programs and stand-ins. */
function machine(programs: readonly string[], standIns: Readonly<Record<string, string>> = {}) {
  const bin = join(directory, 'bin')
  mkdirSync(bin)
  for (const program of programs) {
    symlinkSync(execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim(), join(bin, program))
  }
  for (const [name, script] of Object.entries(standIns)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  cpSync(join(root, 'script'), join(directory, 'script'), { recursive: true })
  copyFileSync(join(root, 'package-lock.json'), join(directory, 'package-lock.json'))
  return (name: string, ...args: string[]) =>
    spawnSync(join(directory, 'script', name), args, { env: { PATH: bin }, encoding: 'utf8' })
}

describe('script/run on an incomplete machine', () => {
  test('names missing system packages in one line', () => {
    const run = machine([...basics, ...system.filter(program => !['bwrap', 'setpriv', 'flock'].includes(program))])
    const { status, stderr } = run('run', 'serve')
    expect(stderr).toBe('missing system packages: bubblewrap util-linux; script/server installs them\n')
    expect(status).toBe(1)
  })

  test('reports missing npm packages in one line', () => {
    const { status, stderr } = machine([...basics, ...system])('run', 'serve')
    expect(stderr).toMatch(/^missing npm packages, .*\n$/)
    expect(status).toBe(1)
  })
})

describe('script/server without bubblewrap', () => {
  const programs = [...basics, ...system.filter(program => program !== 'bwrap'), 'env']
  const ordinaryUser = { id: 'echo 1000', npm: 'exit 1' }
  const command = 'Run as root, then start again: apt-get install -y bubblewrap\n'

  test('tells a user without sudo which command installs it', () => {
    const run = machine(programs, { ...ordinaryUser, 'apt-get': 'exit 1' })
    const { status, stderr } = run('server')
    expect(stderr).toBe(`missing system packages, and there is no sudo to install them with. ${command}`)
    expect(status).toBe(1)
  })

  test('tells the same to a user whose sudo would ask for a password, and does not ask', () => {
    const sudo = `[ "$1" = -n ] || exec sleep 600\necho 'sudo: a password is required' >&2\nexit 1`
    const run = machine(programs, { ...ordinaryUser, sudo, 'apt-get': 'exit 1' })
    const { status, stderr } = run('server')
    expect(stderr).toBe(
      `sudo: a password is required\nmissing system packages, and sudo does not let this user install them. ${command}`,
    )
    expect(status).toBe(1)
  })

  test('tells the same to root if the package manager fails', () => {
    const run = machine(programs, { id: 'echo 0', npm: 'exit 1', 'apt-get': 'echo "E: no network" >&2; exit 100' })
    const { status, stderr } = run('server')
    expect(stderr).toContain('E: no network\n')
    expect(stderr).toContain(`missing system packages, and they could not be installed. ${command}`)
    expect(status).toBe(1)
  })

  test('installs it if sudo works', () => {
    const log = join(directory, 'installed')
    const sudo = '[ "$1" != -n ] || shift\nexec "$@"'
    const run = machine(programs, { ...ordinaryUser, sudo, true: 'exit 0', 'apt-get': `echo "$@" >> ${log}` })
    run('server')
    expect(readFileSync(log, 'utf8')).toBe('install -y bubblewrap -qq\n')
  })
})

describe('arguments of the scripts', () => {
  test.each([
    ['server', []],
    ['run', ['serve']],
  ])('are refused by script/%s if unknown, before it does anything', (name, first) => {
    const installed = join(directory, 'installed')
    const run = machine(basics, { id: 'echo 0', npm: `touch ${installed}`, 'apt-get': `touch ${installed}` })
    const refused = run(name, ...first, '--port', '4200')
    expect(refused.stderr).toMatch(/^script\/.*: unknown argument --port\nusage: script\//)
    expect(refused.status).toBe(2)
    const helped = run(name, ...first, '--help')
    expect(helped.stdout).toMatch(/^usage: script\/.*\n.*BERTH_PORT=4200/)
    expect(helped.status).toBe(0)
    expect(existsSync(installed)).toBe(false)
  })
})

describe.each(['pack', 'release'])('script/%s.ts', name => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'script', `${name}.ts`), ...args], { cwd: directory, encoding: 'utf8' })

  test.each(['--help', '-h'])('answers %s and makes nothing', flag => {
    mkdirSync(join(directory, flag))
    writeFileSync(join(directory, flag, 'kept'), '')
    const { status, stdout } = run(flag)
    expect(stdout).toMatch(/^usage: node script\//)
    expect(status).toBe(0)
    expect(existsSync(join(directory, flag, 'kept'))).toBe(true)
  })

  test.each([[['--force']], [['one', 'two']], [['']]])('refuses the arguments %j', args => {
    const { status, stderr } = run(...args)
    expect(stderr).toContain('usage: node script/')
    expect(status).toBe(2)
    expect(readdirSync(directory)).toEqual([])
  })

  test('deletes nothing of a folder that somebody has named', () => {
    mkdirSync(join(directory, 'home'))
    writeFileSync(join(directory, 'home', 'kept'), '')
    const { status, stderr } = run('home')
    expect(stderr).toContain('home is not empty')
    expect(status).toBe(2)
    expect(existsSync(join(directory, 'home', 'kept'))).toBe(true)
  })
})

describe('two first starts of one checkout', () => {
  test('build one after the other', async () => {
    const log = join(directory, 'log')
    const go = join(directory, 'go')
    // Of the programs that the script calls node for, only the build takes time.
    const node = `case "$*" in
      -p*) echo 24 ;;
      *build.ts) echo begun >>${log}; while [ ! -e ${go} ]; do sleep 0.02; done; echo built >>${log} ;;
    esac`
    machine([...basics, ...system, 'sed', 'sleep'], { node })
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(root, file), join(directory, file))
    mkdirSync(join(directory, 'node_modules'))
    writeFileSync(join(directory, 'node_modules/.package-lock.json'), '')
    const run = join(directory, 'script/run')
    const options = { cwd: directory, env: { PATH: join(directory, 'bin') } }
    const start = () => spawn(run, ['serve'], { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
    const begun = () => (existsSync(log) ? readFileSync(log, 'utf8') : '')
    const first = start()
    await vi.waitUntil(() => begun() !== '', { timeout: 60_000 })
    const second = start()
    let output = ''
    second.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
    await vi.waitUntil(() => output.includes('waiting for it') || begun() === 'begun\nbegun\n', { timeout: 60_000 })
    const ended = Promise.all([first, second].map(each => once(each, 'close')))
    writeFileSync(go, '')
    expect(await ended).toEqual([
      [0, null],
      [0, null],
    ])
    expect(begun()).toBe('begun\nbuilt\nbegun\nbuilt\n')
    expect(output).toContain('script/server: starting the service for the first time; making its database')
    mkdirSync(join(directory, '.berth/postgres'), { recursive: true })
    const later = spawnSync(run, ['serve'], { ...options, encoding: 'utf8' })
    expect(later.stderr).toContain('script/server: starting the service\n')
  })
})

test('script/build.ts builds only changed bundles', () => {
  const build = () => spawnSync(process.execPath, [join(root, 'script', 'build.ts')], { encoding: 'utf8' })
  expect(build().status).toBe(0)
  expect(build()).toMatchObject({ status: 0, stderr: '' })
})

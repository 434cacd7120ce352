import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-scripts-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

describe('script/run on a machine that lacks something', () => {
  const basics = ['bash', 'cat', 'cut', 'dirname', 'sha256sum', 'sort']
  const system = ['bwrap', 'flock', 'git', 'mount', 'prlimit', 'setpriv', 'unshare']

  /** Runs it in a checkout without node_modules, on a machine with these programs only. */
  function run(programs: readonly string[]) {
    const bin = join(directory, 'bin')
    mkdirSync(bin)
    for (const program of programs) {
      symlinkSync(execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim(), join(bin, program))
    }
    cpSync(join(root, 'script'), join(directory, 'script'), { recursive: true })
    copyFileSync(join(root, 'package-lock.json'), join(directory, 'package-lock.json'))
    return spawnSync(join(directory, 'script', 'run'), ['serve'], { env: { PATH: bin }, encoding: 'utf8' })
  }

  test('names the system packages in one line', () => {
    const { status, stderr } = run([
      ...basics,
      ...system.filter(program => !['bwrap', 'setpriv', 'flock'].includes(program)),
    ])
    expect(stderr).toBe('missing system packages: bubblewrap util-linux; script/server installs them\n')
    expect(status).toBe(1)
  })

  test('says that npm packages are missing in one line', () => {
    const { status, stderr } = run([...basics, ...system])
    expect(stderr).toMatch(/^missing npm packages, .*\n$/)
    expect(status).toBe(1)
  })
})

test('script/build.ts builds what has changed and nothing else', () => {
  const build = () => spawnSync(process.execPath, [join(root, 'script', 'build.ts')], { encoding: 'utf8' })
  expect(build().status).toBe(0)
  expect(build()).toMatchObject({ status: 0, stderr: '' })
})

test('the summary counts passed tests, failed tests, files that do not load, and errors outside of tests', () => {
  const files = {
    'mixed.test.js': `
      import { test } from 'vitest'
      test('passes', () => {})
      test('passes too', () => {})
      test('fails', () => { throw new Error('on purpose') })
      test.skip('is skipped', () => {})
      test('leaves a rejection', () => { void Promise.reject(new Error('on purpose')) })`,
    'broken.test.js': "import './absent.js'",
    'hook.test.js': `
      import { beforeAll, describe, test } from 'vitest'
      describe('a suite', () => {
        beforeAll(() => { throw new Error('on purpose') })
        test('is not reached', () => {})
      })`,
  }
  for (const [name, source] of Object.entries(files)) writeFileSync(join(directory, name), source)
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  const summary = join(directory, 'summary')
  const reporter = `--reporter=${join(root, 'script', 'summary-reporter.ts')}`
  const args = [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--root', directory, reporter]
  const { status } = spawnSync(process.execPath, args, { env: { ...process.env, TEST_SUMMARY_FILE: summary } })
  expect(status).toBe(1)
  // Failed: the test, the rejection, the file, and the suite; what the suite did not reach is skipped.
  expect(readFileSync(summary, 'utf8')).toBe('3 4\n')
})

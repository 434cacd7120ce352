import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../packages/testing/src/until.ts'
import { runFiles } from '../testing/run-files.ts'
import { spawn } from '../testing/spawn.ts'
import { commitsIn } from './change.ts'
import { writeUnsteady } from './ledger.ts'
import { killProcessesOf, markVariable, processesOf } from './marked-processes.ts'
import { readRecord } from './record.ts'
import { testFilesIn } from './test-files.ts'
import { everyGate } from './tiers.ts'

const root = join(import.meta.dirname, '../..')
let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-gate-test-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

describe('the table of costs', () => {
  const costs: Record<string, number> = JSON.parse(readFileSync(join(root, 'script/gate/costs.json'), 'utf8'))

  test('has every test file, and none that is gone; `script/test --measure <file>` adds one', () => {
    expect(Object.keys(costs)).toEqual(testFilesIn(root))
  })

  test.each(Object.keys(everyGate))('the gate always runs a file that exists: %s', file => {
    expect(existsSync(join(root, file))).toBe(true)
  })
})

test('the record has failed tests with their errors, files that do not load, suites that break, and errors outside tests', () => {
  const files = {
    'mixed.test.js': `
      import { test } from 'vitest'
      test('passes', () => {})
      test('passes too', () => {})
      test('fails', () => { throw new Error('on purpose') })
      test.skip('is skipped', () => {})
      test('leaves a rejection', () => { void Promise.reject(new Error('nobody took this')) })`,
    'broken.test.js': "import './absent.js'",
    'hook.test.js': `
      import { beforeAll, describe, test } from 'vitest'
      describe('a suite', () => {
        beforeAll(() => { throw new Error('on purpose') })
        test('is not reached', () => {})
      })`,
  }
  const { ended, record } = runFiles(directory, files)
  expect(ended.status).toBe(1)
  const byName = Object.fromEntries(record.files.map(each => [each.file, each]))
  expect(byName['mixed.test.js']).toMatchObject({ passed: 3, skipped: 1, failures: [{ test: 'fails' }] })
  expect(byName['mixed.test.js']?.failures[0]?.text).toContain('on purpose')
  expect(byName['broken.test.js']).toMatchObject({ passed: 0, skipped: 0, failures: [{ test: '(file)' }] })
  expect(byName['hook.test.js']).toMatchObject({ passed: 0, failures: [{ test: 'a suite' }] })
  expect(record.errors).toEqual([expect.stringContaining('nobody took this')])
  expect(record.ended).toBe(true)
  expect(ended.stdout).toContain('failed: mixed.test.js > fails')
})

test('the record of a run that broke off has no end', () => {
  const path = join(directory, 'record')
  const line = JSON.stringify({
    kind: 'file',
    file: 'a.test.ts',
    passed: 1,
    skipped: 0,
    failures: [],
    ms: 1,
    cpuSeconds: 0,
  })
  writeFileSync(path, `${line}\n{"kind":"fi`)
  expect(readRecord(path)).toMatchObject({ files: [{ file: 'a.test.ts' }], ended: false })
})

test('the ledger keeps the first output of a file that passed alone, with the load', () => {
  mkdirSync(join(directory, 'below'))
  const failure = { test: 'holds', text: 'Error: not within 60000 ms' }
  const first = { file: 'a/b.test.ts', passed: 2, skipped: 0, failures: [failure], ms: 5, cpuSeconds: 1 }
  const path = writeUnsteady(directory, first, 'abc', new Date(0))
  expect(path).toBe('.test-ledger/1970-01-01T00-00-00.000Z-a+b.test.ts.json')
  const entry: unknown = JSON.parse(readFileSync(join(directory, path), 'utf8'))
  expect(entry).toMatchObject({
    ...first,
    commit: 'abc',
    load: [expect.any(Number), expect.any(Number), expect.any(Number)],
  })
})

test('the eighth of a shallow clone follows from its commit, since it has no count', () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: directory, encoding: 'utf8' }).trim()
  const identity = ['-c', 'user.name=A', '-c', 'user.email=a@example.test']
  git('init', '--quiet', 'whole')
  for (const message of ['one', 'two', 'three'])
    git('-C', 'whole', ...identity, 'commit', '--quiet', '--allow-empty', '--message', message)
  git('clone', '--quiet', '--depth=1', `file://${join(directory, 'whole')}`, 'shallow')
  expect(commitsIn(join(directory, 'whole'))).toBe(3)
  expect(commitsIn(join(directory, 'shallow'))).toBe(
    Number.parseInt(git('-C', 'whole', 'rev-parse', 'HEAD').slice(0, 8), 16),
  )
})

describe('processes of a run', () => {
  const mark = `test-${process.pid}`
  /** A process with the mark whose child has it, too; both are in a session of their own. */
  async function marked(): Promise<ChildProcess> {
    const child = spawn('bash', ['-c', 'sleep 600 & echo started; wait'], {
      env: { ...process.env, [markVariable]: mark },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    await once(child.stdout, 'data')
    return child
  }

  test('are found by their mark, and killed with what they started', async () => {
    const child = await marked()
    await until('both carry the mark', () => processesOf(mark).length === 2)
    expect(killProcessesOf(mark)).toHaveLength(2)
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    expect(processesOf(mark)).toEqual([])
  })

  test('end with a runner that is killed, and are left alone by one that says that it is done', async () => {
    const reaper = () =>
      spawn(process.execPath, [join(root, 'script/gate/reaper.ts'), mark], {
        stdio: ['pipe', 'inherit', 'inherit'],
        env: { ...process.env, [markVariable]: '' },
      })
    const child = await marked()
    const polite = reaper()
    polite.stdin.end('done')
    await once(polite, 'exit')
    expect(processesOf(mark).length).toBeGreaterThan(0)
    const after = reaper()
    after.stdin.end()
    await once(after, 'exit')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    expect(processesOf(mark)).toEqual([])
  })
})

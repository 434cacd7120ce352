import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runFiles } from '../testing/run-files.ts'
import { countedSeconds, mayTake } from './file-time.ts'

const root = join(import.meta.dirname, '../..')

/** Two workers take the files by their names, and keep their processes. */
const config = {
  'vitest.config.js': `
    import { BaseSequencer } from 'vitest/node'
    class ByName extends BaseSequencer {
      sort(files) { return files.toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1)) }
    }
    const setupFiles = ['${join(root, 'script/testing/file-process.ts')}']
    export default {
      test: { pool: 'forks', isolate: false, maxWorkers: 2, setupFiles, sequence: { sequencer: ByName } },
    }`,
}
const good = "import { test } from 'vitest'\ntest('passes', () => {})"

test('a file that blocks its process or takes it down has failed, and the files behind it run', () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-blocked-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const files = {
    ...config,
    'a-loop.test.js': `
      import { test } from 'vitest'
      test('passes', () => new Promise(resolve => setTimeout(resolve, 200)))
      test('fails', () => { throw new Error('on purpose') })
      test('never returns', async () => {
        await new Promise(resolve => setTimeout(resolve, 200))
        for (;;) {}
      })
      test('is not reached', () => {})`,
    'b-promises.test.js': `
      import { test } from 'vitest'
      test('follows promises', async () => { for (;;) await null })`,
    'c-waits.test.js': `
      import { execFileSync } from 'node:child_process'
      import { test } from 'vitest'
      test('waits for another program', () => execFileSync('sleep', ['987654']))`,
    'd-loading.test.js': 'await new Promise(() => {})',
    'e-dies.test.js': `
      import { test } from 'vitest'
      test('ends its process', () => process.kill(process.pid, 'SIGKILL'))`,
    'y-good.test.js': good,
    'z-good.test.js': good,
  }
  const patient = Object.fromEntries(['e-dies', 'y-good', 'z-good'].map(name => [`${name}.test.js`, 1_000]))
  // bound: the seconds count by the share of a processor that the load leaves
  const { ended, record } = runFiles(directory, files, { GATE_FILE_SECONDS: '2', GATE_COSTS: JSON.stringify(patient) })
  expect([ended.status, record.ended, record.errors]).toEqual([1, true, []])
  const byName = Object.fromEntries(record.files.map(each => [each.file, each]))
  const cutOff = { passed: 0, failures: [{ test: '(file) did not end' }] }
  expect(byName).toMatchObject({
    'a-loop.test.js': { passed: 1, failures: [{ test: 'fails' }, { test: '(file) did not end' }] },
    'b-promises.test.js': cutOff,
    'c-waits.test.js': cutOff,
    'd-loading.test.js': cutOff,
    'e-dies.test.js': cutOff,
    'y-good.test.js': { passed: 1, failures: [] },
    'z-good.test.js': { passed: 1, failures: [] },
  })
  expect(record.files).toHaveLength(7)
  expect(ended.stdout).toContain(
    'Run it alone: script/test a-loop.test.js\nThe first test without a result: never returns',
  )
})

test('a loop that a file leaves in its process ends with that, wherever the process is by then', () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-blocked-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const files = {
    ...config,
    'a-leaves.test.js': `
      import { test } from 'vitest'
      test('leaves a loop', () => void setTimeout(() => { for (;;) {} }))`,
    ...Object.fromEntries(['b', 'c', 'd', 'e'].map(name => [`${name}-good.test.js`, good])),
  }
  // bound: whichever file is cut off, the run is to end
  const { ended, record } = runFiles(directory, files, { GATE_FILE_SECONDS: '1' })
  expect([ended.status, record.ended]).toEqual([1, true])
  const texts = [...record.errors, ...record.files.flatMap(file => file.failures.map(({ text }) => text))]
  expect(texts).toEqual([expect.stringMatching(/did not end within 1 s|Worker exited unexpectedly/)])
})

test('a file may take ten minutes or twenty times its cost, in time that the machine had for it', () => {
  expect([mayTake(0), mayTake(29), mayTake(31)]).toEqual([600, 600, 620])
  expect([countedSeconds(1_000, 0.5, 2), countedSeconds(1_000, 8, 2), countedSeconds(60_000, 1, 2)]).toEqual([
    1, 0.25, 2,
  ])
})

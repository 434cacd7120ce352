import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '../../..')

test('behind a case that fails the others of its suite are skipped, and no others', () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-one-way-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  writeFileSync(
    join(directory, 'a.test.js'),
    `import { describe, test } from 'vitest'
     import { oneWay } from ${JSON.stringify(join(import.meta.dirname, 'one-way.ts'))}
     describe('a walk', () => {
       oneWay()
       test('begins', () => {})
       test('stumbles', () => { throw new Error('on purpose') })
       test('goes on', () => { throw new Error('of the one before') })
       test('arrives', () => { throw new Error('of the one before') })
     })
     test('another', () => {})`,
  )
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  const report = join(directory, 'report.json')
  const args = [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--root',
    directory,
    '--reporter=json',
    `--outputFile=${report}`,
  ]
  spawnSync(process.execPath, args)
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: { assertionResults: { title: string; status: string }[] }[]
  }
  const states = testResults.flatMap(each => each.assertionResults.map(({ title, status }) => [title, status]))
  expect(states).toEqual([
    ['begins', 'passed'],
    ['stumbles', 'failed'],
    ['goes on', 'skipped'],
    ['arrives', 'skipped'],
    ['another', 'passed'],
  ])
})

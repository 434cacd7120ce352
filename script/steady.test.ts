import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkTests } from './lib/steady-tests.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-steady-'))
})
afterEach(() => rmSync(root, { recursive: true }))

/** Checks a repository in which only this file is. */
function check(source: string, file = 'packages/a/test/a.test.ts'): string[] {
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(join(root, file), source)
  return checkTests(root)
}

describe('a test may', () => {
  test.each([
    ['give a bound that a busy machine keeps', 'open({ timeoutMs: 2_000, BERTH_FENCE_SECONDS: "6" })'],
    ['give none', 'open({ graceMs: 0, BERTH_FENCE_SECONDS: "0" })'],
    ['name a time that nothing waits for', 'shows({ durationMs: 5 })'],
    ['compute a bound', 'open({ timeoutMs: 30 * day, pauseMs })'],
    ['run a short program', 'import { execFileSync } from "node:child_process"'],
    ['write of sleep', 'say("sleep(50)")'],
    ['explain a bound on its line', 'open({ timeoutMs: 50 }) // bound: nobody answers'],
    ['explain a wait on the line above', '// bound: a pause between two looks\nawait sleep(5)'],
  ])('%s', (_, source) => {
    expect(check(source)).toEqual([])
  })
})

describe('a test may not', () => {
  test.each([
    ['give a bound that a pause of the machine exceeds', 'open({\n  timeoutMs: 1_999 })', '2: timeoutMs is too short'],
    ['name it in quotes', 'open({ "timeoutMs": 50 })', '1: timeoutMs is too short'],
    ['set it for a service', 'open({ BERTH_FENCE_SECONDS: "5" })', '1: BERTH_FENCE_SECONDS is too short'],
    ['sleep', 'await sleep(50)', '1: waits for a time'],
    ['wait by a timer', 'await new Promise(resolve => setTimeout(resolve, 50))', '1: waits for a time'],
    ['start what outlives it', 'import { spawn } from "node:child_process"', '1: its processes may outlive it'],
    ['explain it two lines above', '// bound: of another\n\nawait sleep(50)', '3: waits for a time'],
  ])('%s', (_, source, fault) => {
    expect(check(source)).toEqual([expect.stringContaining(`packages/a/test/a.test.ts:${fault}`)])
  })

  test('do so in its support, its setup or beside the source', () => {
    for (const file of ['packages/a/test/support/b.ts', 'packages/a/src/b.test.ts', 'script/b.test.ts']) {
      expect(check('await sleep(50)', file).at(-1)).toContain('waits for a time')
      rmSync(join(root, file))
    }
  })
})

test('the product may wait for times', () => {
  expect(check('await sleep(50)', 'packages/a/src/a.ts')).toEqual([])
})

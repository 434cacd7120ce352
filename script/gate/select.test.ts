import { describe, expect, test } from 'vitest'
import { eighthOf, type Ground, selectAll, selectGate } from './select.ts'
import { everyGate, isLong, isPure, longFromSeconds } from './tiers.ts'

const [walk] = Object.keys(everyGate) as [string]
const short = 'packages/platform/src/kit/cursor.test.ts'
const long = 'packages/core/test/delivery/long.test.ts'
const page = 'packages/console/test/some-page.test.ts'
const fault = 'packages/server/test/faults/some.test.ts'

function ground(change: Partial<Ground['change']> = {}, commits = 7): Ground {
  return {
    sources: new Map([
      [short, "import { test } from 'vitest'"],
      [long, "import { thing } from '../../src/delivery/thing.ts'"],
      [page, "import { launchChromium } from '@berth/testing/browser/chromium.ts'"],
      [fault, ''],
      [walk, "import { launchChromium } from '@berth/testing/browser/chromium.ts'"],
    ]),
    costs: { [short]: 0.3, [long]: 40, [page]: 4, [fault]: 2, [walk]: 30 },
    change: { paths: new Set(), messages: '', ...change },
    commits,
  }
}

const filesOf = (selected: ReturnType<typeof selectGate>) => selected.map(({ file }) => file)

describe('the gate', () => {
  test('has every short test and the walks, and no other long test', () => {
    expect(filesOf(selectGate(ground()))).toEqual([short, walk])
  })

  test('has a long test that the change holds, names, changes an import of, or changes a folder of the same name as', () => {
    const reasons = (change: Partial<Ground['change']>) =>
      Object.fromEntries(selectGate(ground(change)).map(({ file, why }) => [file, why]))
    expect(reasons({ paths: new Set([fault]) })[fault]).toBe('changed')
    expect(reasons({ messages: 'Mend the wait of long.test.ts' })[long]).toBe('named by a commit')
    expect(reasons({ paths: new Set(['packages/core/src/delivery/thing.ts']) })[long]).toContain('thing.ts')
    const sources = (path: string) => reasons({ paths: new Set([path]) })[page]
    expect(sources('packages/core/src/sessions/some-pages/read.ts')).toContain('named for the folder')
    expect(sources('packages/core/src/sessions/some-pages/read.test.ts')).toBeUndefined()
    expect(sources('packages/core/src/sessions/other-pages/read.ts')).toBeUndefined()
  })

  test('runs every long test once in eight commits', () => {
    const runs = [0, 1, 2, 3, 4, 5, 6, 7].flatMap(commits => filesOf(selectGate(ground({}, commits))))
    for (const file of [long, page, fault]) expect(runs.filter(each => each === file)).toEqual([file])
  })

  test('takes about as long for each of eight commits', () => {
    const files = Array.from({ length: 80 }, (_, at) => `packages/core/test/delivery/file-${at}.test.ts`)
    const costs = Object.fromEntries(files.map((file, at) => [file, at < 2 ? 60 : longFromSeconds + (at % 9)]))
    const sources = new Map(files.map(file => [file, '']))
    const seconds = [0, 1, 2, 3, 4, 5, 6, 7].map(commits =>
      [...eighthOf({ sources, costs, commits })].reduce((sum, file) => sum + (costs[file] ?? 0), 0),
    )
    expect(Math.max(...seconds) - Math.min(...seconds)).toBeLessThanOrEqual(longFromSeconds + 8)
  })

  test('is only added to by a change', () => {
    const without = filesOf(selectGate(ground()))
    const changed = filesOf(selectGate(ground({ paths: new Set([short, long, page, fault, walk]) })))
    expect(changed).toEqual(expect.arrayContaining([...without]))
    expect(changed).toHaveLength(5)
  })
})

test('all files are the short and the long ones, and words choose among the long ones', () => {
  expect(selectAll(ground()).map(({ why }) => why)).toEqual(['gate', 'long', 'long', 'long', 'long'])
  expect(filesOf(selectAll(ground(), ['delivery', 'kit']))).toEqual([long])
})

test('a test is long by its cost, by its faults, or by its browser', () => {
  expect(isLong(short, longFromSeconds - 0.1, '')).toBe(false)
  expect(isLong(short, longFromSeconds, '')).toBe(true)
  expect(isLong(fault, 0, '')).toBe(true)
  expect(isLong(page, 0, "import { visitor } from '@berth/testing/browser/visitor.ts'")).toBe(true)
})

test('only a test without a process, a clock and a network can blame nobody for its failure', () => {
  expect(isPure(short, "import { test } from 'vitest'")).toBe(true)
  expect(isPure(short, "import { spawn } from 'node:child_process'")).toBe(false)
  expect(isPure(short, "import { createTestDatabase } from '@berth/testing/storage/postgres.ts'")).toBe(false)
  expect(isPure(long, '')).toBe(false)
})

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { meanOf, wilson } from './support/statistics.ts'
import { makeRepository, readTasks } from './support/task-sets.ts'

const tasks = await readTasks()
const directory = await mkdtemp(join(tmpdir(), 'berth-tasks-'))
afterAll(() => rm(directory, { recursive: true }))

const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: directory, GIT_CONFIG_NOSYSTEM: '1' }

/** Runs a program in a tree, with an input. Returns whether it succeeded, and what it printed. */
async function run(cwd: string, input: string, ...command: readonly string[]) {
  const [program = '', ...args] = command
  const running = promisify(execFile)(program, args, { cwd, env, timeout: 120_000 })
  // A program that reads no input may be gone before.
  running.child.stdin?.on('error', () => undefined).end(input)
  return running.then(
    ({ stdout, stderr }) => ({ succeeded: true, output: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ succeeded: false, output: `exit status ${code}\n${stdout}${stderr}` }),
  )
}

test('there are three sets of twelve tasks, with names of their own', () => {
  const sets = Object.groupBy(tasks, ({ set }) => set)
  expect(Object.entries(sets).map(([set, of]) => [set, of?.length])).toEqual([
    ['feature', 12],
    ['refactor', 12],
    ['repair', 12],
  ])
  expect(new Set(tasks.map(({ name }) => name)).size).toBe(36)
})

describe.concurrent('the check fails before, and succeeds with the solution', () => {
  test.each(tasks)('of $set/$name', async task => {
    const tree = join(directory, task.name)
    await makeRepository(task, `${tree}.git`)
    await mkdir(tree)
    await run(tree, '', 'git', `--git-dir=${tree}.git`, '--work-tree=.', 'checkout', '--quiet', '--force', 'main')
    expect(await run(tree, '', 'bash', '-c', task.check)).toMatchObject({ succeeded: false })
    expect(await run(tree, task.solution, 'git', 'apply')).toEqual({ succeeded: true, output: '' })
    expect(await run(tree, '', 'bash', '-c', task.check)).toMatchObject({ succeeded: true })
  })
})

test.each([
  [0, 10, 0, 0.278],
  [8, 10, 0.49, 0.943],
  [36, 36, 0.904, 1],
])('%i of %i solved has the interval %f to %f', (solved, of, low, high) => {
  expect(wilson(solved, of).map(bound => Math.round(bound * 1000) / 1000)).toEqual([low, high])
})

test('a mean has the interval of a normal distribution, and a single figure has none', () => {
  expect(meanOf([1, 2, 3, 4]).map(figure => Math.round(figure * 1000) / 1000)).toEqual([2.5, 1.235, 3.765])
  expect(meanOf([5])).toEqual([5, Number.NaN, Number.NaN])
})

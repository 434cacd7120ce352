import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Engine, openEngine, textOf } from './support/engine.ts'
import { call, inputOf } from './support/scripted-gateway.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const write = (path: string, content: string) => call('write', { path, content })
const account = (text: string) => ({ text })
/** Passes once the file `good` is there, and leaves a line for each run; what it builds is nobody's change. */
const lint = { name: 'lint', run: 'echo run >> ../runs; date +%N > built; cat good', timeoutSeconds: 60 }
const runs = () => {
  const file = join(engine.workspace, '../runs')
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0
}

const openRepository = () =>
  openEngine({
    prepare(workspace) {
      const git = (...args: string[]) =>
        execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: workspace })
      git('init', '-q')
      writeFileSync(join(workspace, 'a.txt'), 'one\n')
      git('add', '.')
      git('commit', '-q', '-m', 'one')
    },
  })

test('a Turn that changed files ends with the quick checks, which its last message says', async () => {
  engine = await openRepository()
  engine.gateway.next(write('good', 'fine'), account('# Add good'), account('ok'))
  const { updates, stopReason } = await engine.prompt('go', { checks: [lint] })
  expect(stopReason).toBe('completed')
  expect(textOf(updates)).toMatch(
    /^# Add good\n\nQuick checks of the environment, run in this workspace at the end:\n\n- `lint` passed in [\d.]+ s$/,
  )
  const chunks = updates.filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk')
  expect(new Set(chunks.map(chunk => ('messageId' in chunk ? chunk.messageId : null))).size).toBe(1)
  expect([runs(), engine.gateway.requests.length]).toEqual([1, 2])
  await engine.prompt('and?', { checks: [lint] })
  expect(inputOf(engine.gateway.requests[2])).toContain('`lint` passed')
  // That Turn has changed nothing.
  expect(runs()).toBe(1)
})

test('a failure goes to the model once, and what it changes then is checked once more', async () => {
  engine = await openRepository()
  engine.gateway.next(
    call('bash', { command: 'echo two > a.txt' }),
    account('# Not yet'),
    write('good', 'fine'),
    account('# Now'),
  )
  const { updates } = await engine.prompt('go', { checks: [lint] })
  const failures = inputOf(engine.gateway.requests[2])
  expect(failures).toContain('`lint` failed with exit code 1')
  expect(failures).toContain('good: No such file')
  expect(textOf(updates)).toMatch(/# Now\n\nQuick checks .*\n\n- `lint` passed in [\d.]+ s$/)
  expect([runs(), engine.gateway.requests.length]).toEqual([2, 4])
})

test.each<readonly [string, readonly ReturnType<typeof call>[], number]>([
  ['changes nothing', [], 1],
  ['does not mend it', [write('b.txt', 'more')], 2],
])('a model that then %s ends with the failure, which is not told again', async (_, further, expected) => {
  engine = await openRepository()
  engine.gateway.next(write('a.txt', 'two'), account('# Not yet'), ...further, account('# Left'))
  const { updates, stopReason } = await engine.prompt('go', { checks: [lint] })
  expect(stopReason).toBe('completed')
  expect(textOf(updates)).toMatch(
    /# Left\n\nQuick checks .*\n\n- `lint` failed with exit code 1 .*\n\n```\n.*good.*\n```$/,
  )
  expect([runs(), engine.gateway.requests.length]).toEqual([expected, 3 + further.length])
})

test('only checks for the files that changed are run, also after a commit, and not while a plan is made', async () => {
  engine = await openRepository()
  const other = { name: 'docs', run: 'echo docs', timeoutSeconds: 60, paths: ['docs/**'] }
  const commit = 'mkdir docs; echo a > docs/a.md; git add docs; git -c user.name=a -c user.email=a@b commit -qm docs'
  engine.gateway.next(write('b.txt', 'b'), account('one'), call('bash', { command: commit }), account('two'))
  expect(textOf((await engine.prompt('go', { checks: [other] })).updates)).toBe('one')
  expect(textOf((await engine.prompt('go', { checks: [other] })).updates)).toContain('`docs` passed')
})

test('without a repository the files of the tools count', async () => {
  engine = await openEngine()
  engine.gateway.next(call('read', { path: 'none' }), account('one'), write('good', 'x'), account('two'))
  expect(textOf((await engine.prompt('go', { checks: [lint] })).updates)).toBe('one')
  expect(textOf((await engine.prompt('go', { checks: [lint] })).updates)).toContain('`lint` passed')
})

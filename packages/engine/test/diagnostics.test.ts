import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { callsOf, type Engine, openEngine } from './support/engine.ts'
import type { ModelReply } from './support/responses-wire.ts'
import { type Behaviour, call, inputOf, saysChanged } from './support/scripted-gateway.ts'
import { until } from './support/until.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const done: ModelReply = { text: 'done' }
const compiler = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
const change = (path: string, oldText: string, newText: string) => ({ path, edits: [{ oldText, newText }] })
const edit = (...given: Parameters<typeof change>) => call('edit', change(...given))
const at = (name: string) => join(engine.workspace, name)

/** Opens an engine on a project of TypeScript, whose `tsc` runs these lines of a shell after it has left its number. */
const openProject = (script: string, files: Readonly<Record<string, string>>, env: Record<string, string> = {}) =>
  openEngine({
    env: { BERTH_ENGINE_DIAGNOSTICS_MS: '60000', ...env },
    prepare(workspace) {
      const strict = { compilerOptions: { strict: true, types: [], lib: ['es5'], module: 'es2022' } }
      const program = `#!/bin/sh\necho $$ >> ${workspace}/../runs\n${script}\n`
      const all = { 'tsconfig.json': JSON.stringify(strict), 'node_modules/.bin/tsc': program, ...files }
      for (const [name, content] of Object.entries(all)) {
        mkdirSync(dirname(join(workspace, name)), { recursive: true })
        writeFileSync(join(workspace, name), content)
      }
      chmodSync(join(workspace, 'node_modules/.bin/tsc'), 0o755)
    },
  })
const real = `exec "${process.execPath}" "${compiler}" "$@"`
const runs = (): string[] =>
  existsSync(at('../runs')) ? readFileSync(at('../runs'), 'utf8').split('\n').slice(0, -1) : []

/** Replies once the run of this number has ended. */
const afterRun =
  (number: number, reply: ModelReply): Behaviour =>
  async (request, response) => {
    await until(() => runs().length >= number && !existsSync(`/proc/${runs()[number - 1]}`))
    await saysChanged(reply, frame => frame)(request, response)
  }

test('an edit that breaks another file is followed by what it broke, and by nothing that was wrong before', async () => {
  const files = {
    'src/add.ts': 'export const add = (a: number) => a\n',
    'src/use.ts': "import { add } from './add'\nexport const one = add(1)\n",
    'src/old.ts': "export const wrong: number = 'text'\n",
  }
  engine = await openProject(real, files)
  engine.gateway.next(
    call('read', { path: 'src/add.ts' }),
    afterRun(1, edit('src/add.ts', '(a: number)', '(a: string)')),
    edit('src/old.ts', 'export', '\n\nexport'),
    edit('src/use.ts', 'add(1)', "add('1')"),
    done,
  )
  const { updates } = await engine.prompt('go')
  const broken = [
    'tsc reports since this change:',
    "src/use.ts:2: error TS2345: Argument of type 'number' is not assignable to parameter of type 'string'.",
  ].join('\n')
  const replaced = (path: string) => ({ call: 'edit completed', text: `Replaced one block in ${path}.` })
  expect(callsOf(updates).slice(1)).toEqual([
    { call: 'edit completed', text: `Replaced one block in src/add.ts.\n${broken}` },
    replaced('src/old.ts'),
    replaced('src/use.ts'),
  ])
  expect(inputOf(engine.gateway.requests[2])).toContain(JSON.stringify(broken).slice(1, -1))
  expect(readdirSync(engine.workspace).toSorted()).toEqual(['node_modules', 'src', 'tsconfig.json'])
  expect(runs()).toHaveLength(4)
})

test('without a run before it, an edit is followed by what is wrong in its lines; edits of one step are checked once', async () => {
  engine = await openProject(real, { 'a.ts': "export const a: number = 'a'\n", 'b.ts': 'export const b = 1\n' })
  engine.gateway.next(
    {
      calls: [
        { name: 'edit', args: change('a.ts', "'a'\n", "'a'\nexport const c: number = 'c'\n") },
        { name: 'write', args: { path: 'b.ts', content: 'export const b: string = 1\n' } },
        { name: 'edit', args: change('b.ts', 'not there', '') },
      ],
    },
    done,
  )
  const { updates } = await engine.prompt('go')
  expect(callsOf(updates).map(({ text }) => text)).toContainEqual(
    expect.stringContaining(
      [
        'tsc reports in the changed lines:',
        "a.ts:2: error TS2322: Type 'string' is not assignable to type 'number'.",
        "b.ts:1: error TS2322: Type 'number' is not assignable to type 'string'.",
      ].join('\n'),
    ),
  )
  expect(JSON.stringify(updates).match(/tsc reports/g)).toHaveLength(1)
  expect(runs()).toHaveLength(1)
})

test('a program that hangs is ended with its children, and tried again ten edits later', async () => {
  const hangs = 'setsid sleep 1000 & echo $! >> ../children\nsleep 1000'
  const file = { 'a.ts': 'export const a = 0\n' }
  engine = await openProject(`[ $(wc -l < ../runs) = 1 ] || exit 0\n${hangs}`, file, {
    BERTH_ENGINE_DIAGNOSTICS_MS: '2000',
  })
  const edits = Array.from({ length: 11 }, (_, n) => edit('a.ts', `a = ${n}`, `a = ${n + 1}`))
  engine.gateway.next(
    edits[0] ?? done,
    ...edits.slice(1),
    edit('a.ts', 'a = 11', "a: string = 1 as never as '1'"),
    done,
  )
  const { updates } = await engine.prompt('go')
  expect(callsOf(updates)).toEqual(
    Array.from({ length: 12 }, () => ({ call: 'edit completed', text: 'Replaced one block in a.ts.' })),
  )
  expect(runs()).toHaveLength(2)
  const children = readFileSync(at('../children'), 'utf8').trim().split('\n')
  for (const pid of [runs()[0], ...children]) await until(() => !existsSync(`/proc/${pid}`))
})

test.each([
  [
    'is that of the environment',
    'echo "$PWD/a.ts:1: not so"; exit 1',
    '\nAGENT_DIAGNOSTICS_TS reports in the changed lines:\na.ts:1: not so',
  ],
  ['is none, if the environment says so', '', ''],
  ['tells nothing, if it cannot work', 'echo it is broken; exit 1', ''],
  ['leaves warnings out', 'echo "a.ts:1:1: warning: hm"', ''],
])('the program %s', async (_, command, text) => {
  engine = await openProject('exit 1', { 'a.ts': 'export {}\n' }, { AGENT_DIAGNOSTICS_TS: command })
  engine.gateway.next(edit('a.ts', '{}', '{ }'), done)
  const { updates } = await engine.prompt('go')
  expect(callsOf(updates)).toEqual([{ call: 'edit completed', text: `Replaced one block in a.ts.${text}` }])
  expect(runs()).toEqual([])
})

test('nothing is run for a model that plans', async () => {
  engine = await openProject(real, { 'a.ts': 'export {}\n' })
  engine.gateway.next(call('read', { path: 'a.ts' }), done)
  await engine.prompt('/plan\ngo')
  expect(runs()).toEqual([])
})

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { asObject } from '../src/json.ts'
import { callsOf, type Engine, openEngine } from './support/engine.ts'
import { type Behaviour, call, inputOf, saysChanged } from './support/scripted-gateway.ts'
import { until } from './support/until.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const done = { text: 'done' }
const words = { minimal: 'low', low: 'low', medium: 'medium', high: 'high', max: 'max' }
const reasons = { supports_reasoning: true, native_wires: ['responses'], reasoning_words: words }
const small = { id: 'small', object: 'model', ...reasons }

/** Defines sub-agents, each a file of the frontmatter and the text. */
const defines =
  (definitions: Readonly<Record<string, string>>, directory = '.agents/agents') =>
  (workspace: string) => {
    mkdirSync(join(workspace, directory), { recursive: true })
    for (const [file, text] of Object.entries(definitions)) writeFileSync(join(workspace, directory, file), text)
  }
const scout = '---\nname: scout\ndescription: Finds code.\nmodel: small\neffort: minimal\n---\nAnswer with paths.\n'

const effortAt = (at: number) => {
  const { model, reasoning } = asObject(engine.gateway.requests[at]?.body)
  return { model, effort: asObject(reasoning)['effort'] }
}

test('a sub-agent has the model, the effort and the instructions of its definition', async () => {
  engine = await openEngine({ model: reasons, otherModels: [small], prepare: defines({ 'scout.md': scout }) })
  engine.gateway.next(call('delegate', { task: 'Find it', agent: 'scout' }), { text: 'src/a.ts' }, done)
  const turn = await engine.prompt('go', { effort: 'high' })
  expect(callsOf(turn.updates)).toMatchObject([{ call: 'delegate completed', text: 'src/a.ts' }])
  expect([0, 1, 2].map(effortAt)).toEqual([
    { model: 'main/m1', effort: 'high' },
    { model: 'small', effort: 'low' },
    { model: 'main/m1', effort: 'high' },
  ])
  expect(inputOf(engine.gateway.requests[0])).toContain('scout (Finds code.)')
  expect(inputOf(engine.gateway.requests[1])).toMatch(/Answer with paths\..*Find it/)
})

test('without a definition, and for a model that the gateway does not list, it has those of the agent', async () => {
  const reviewer = '---\nname: reviewer\ndescription: Reads.\nmodel: opus\n---\n'
  engine = await openEngine({ model: reasons, prepare: defines({ 'reviewer.md': reviewer }, '.claude/agents') })
  engine.gateway.next(
    call('delegate', { task: 'a' }),
    done,
    call('delegate', { task: 'b', agent: 'reviewer' }),
    done,
    call('delegate', { task: 'c', agent: 'nobody' }),
    done,
  )
  const turn = await engine.prompt('go', { effort: 'low' })
  for (const at of [1, 3]) expect(effortAt(at)).toEqual({ model: 'main/m1', effort: 'low' })
  expect(callsOf(turn.updates).at(-1)).toMatchObject({
    call: 'delegate failed',
    text: expect.stringContaining('There is no sub-agent nobody. Those that there are: reviewer.'),
  })
})

test('files that define none are left out, and the first of two of one name counts', async () => {
  engine = await openEngine({
    model: reasons,
    prepare: workspace => {
      defines({ 'a.md': scout, 'b.md': 'no frontmatter', 'c.md': '---\nname: No Name\ndescription: x\n---\n' })(
        workspace,
      )
      defines({ 'scout.md': scout.replace('Finds code.', 'Another.') }, '.claude/agents')(workspace)
    },
  })
  engine.gateway.next(done)
  await engine.prompt('go')
  const tools = JSON.stringify(asObject(engine.gateway.requests[0]?.body)['tools'])
  expect(tools).toContain('if one fits: scout (Finds code.)"')
})

test('four work side by side, and further ones wait for a place', async () => {
  engine = await openEngine({ model: reasons })
  let open = 0
  let most = 0
  const gate = Promise.withResolvers<void>()
  const waits: Behaviour = async (request, response) => {
    open += 1
    most = Math.max(most, open)
    await gate.promise
    open -= 1
    return saysChanged({ text: 'found' }, frame => frame)(request, response)
  }
  const six = { calls: Array.from({ length: 6 }, (_, n) => ({ name: 'delegate', args: { task: `task ${n}` } })) }
  engine.gateway.next(six, waits, waits, waits, waits, waits, waits, done)
  const turn = engine.prompt('go')
  await until(() => open === 4)
  gate.resolve()
  const { updates } = await turn
  expect(most).toBe(4)
  expect(callsOf(updates).map(({ call: name }) => name)).toEqual(Array.from({ length: 6 }, () => 'delegate completed'))
  const titles = updates.flatMap(update => (update.sessionUpdate === 'tool_call' ? [update.title] : []))
  expect(titles).toEqual(Array.from({ length: 6 }, (_, n) => `delegate: task ${n}`))
})

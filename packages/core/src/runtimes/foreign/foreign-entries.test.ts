import { expect, test } from 'vitest'
import type { ModelFacts } from '../catalog.ts'
import { runtimeEntries } from './foreign-entries.ts'

const given = (id: string, base: 'claude-code' | 'gemini', env: Record<string, string>) => ({
  id,
  name: id,
  base,
  command: [],
  env,
  reach: [],
  mounts: [],
  state: [],
  secrets: Object.values(env),
})
const deployment = { installs: '/nowhere', inside: '/opt/runtime' }

test("an agent of one provider's format needs such a provider, and then gets the gateway's address", () => {
  for (const [id, format] of [
    ['claude-code', 'messages'],
    ['gemini', 'generate'],
    ['codex', 'responses'],
  ] as const) {
    const find = (isSpoken: boolean) =>
      runtimeEntries([], { ...deployment, speaks: requested => requested === format && isSpoken }).find(
        entry => entry.id === id,
      )
    expect(find(false)?.missing?.()).toMatch(/^needs a provider of kind/)
    const entry = find(true)
    expect([entry?.speaks, entry?.missing?.()]).toEqual([format, `not installed: berth runtimes install ${id}`])
    const env = entry?.modelEnv?.({ id: 'a/b' })
    expect(JSON.stringify(env)).toMatch(/http:\/\/127\.0\.0\.1:3128\b/)
    expect(JSON.stringify(env)).toMatch(/"a\/b\\?"/)
  }
})

test('each agent gets the effort by a setting of its own', () => {
  const entries = runtimeEntries([], { ...deployment, speaks: () => true })
  const settingsOf = (id: string, effort: ModelFacts['effort']) =>
    JSON.stringify(entries.find(entry => entry.id === id)?.modelEnv?.({ id: 'a/b', ...(effort && { effort }) }))
  const most = { level: 'max', word: 'xhigh', control: 'effort' } as const
  for (const [id, effort, setting] of [
    ['claude-code', most, '"CLAUDE_CODE_EFFORT_LEVEL":"xhigh"'],
    ['codex', most, '\\"model_reasoning_effort\\":\\"xhigh\\"'],
    ['opencode', most, '\\"reasoningEffort\\":\\"xhigh\\"'],
    ['gemini', { level: 'low', word: 'low', control: 'level' }, '\\"thinkingLevel\\":\\"LOW\\"'],
    ['gemini', { level: 'low', word: 'low', control: 'budget' }, '\\"thinkingBudget\\":2048'],
  ] as const) {
    expect(settingsOf(id, effort)).toContain(setting)
    expect(settingsOf(id, undefined)).not.toMatch(/effort|thinking/i)
  }
})

test("an operator's own key makes the agent use its provider and its own choice of model", () => {
  const entries = runtimeEntries(
    [
      given('claude-code', 'claude-code', { ANTHROPIC_API_KEY: 'key' }),
      given('mine', 'gemini', { GEMINI_API_KEY: 'key', GEMINI_MODEL: 'one' }),
      given('other', 'gemini', { GEMINI_MODEL: 'one' }),
    ],
    { ...deployment, speaks: () => false },
  )
  const [claude, mine, other] = entries
  expect(claude).toMatchObject({ id: 'claude-code', env: { ANTHROPIC_API_KEY: 'key' } })
  expect(mine?.env).toMatchObject({ GEMINI_API_KEY: 'key', GEMINI_MODEL: 'one', GEMINI_SETTINGS: expect.any(String) })
  for (const entry of [claude, mine]) {
    expect([entry?.modelEnv, entry?.speaks]).toEqual([undefined, undefined])
    expect(entry?.missing?.()).toMatch(/^not installed/)
  }
  expect(other?.modelEnv).toBeDefined()
  expect(other?.missing?.()).toMatch(/^needs a provider/)
})

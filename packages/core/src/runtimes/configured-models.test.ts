import type { Config } from '@berth/platform/settings/config-file.ts'
import { expect, it } from 'vitest'
import { configuredModels } from './configured-models.ts'

const provider = (id: string, wire: readonly string[], models?: readonly string[]) => ({
  id,
  wire,
  models: models?.map(model => ({ id: model })),
})
const config = {
  providers: [
    provider('one', ['chat'], ['b', 'a']),
    provider('two', ['messages'], ['c']),
    provider('open', ['chat'], undefined),
  ],
  models: { aliases: { fast: 'one/a', deep: 'two/c', away: 'open/x' } },
} as unknown as Config

it('knows which models reason, as far as they are described, and the words of their providers', () => {
  const described = {
    providers: [
      { ...provider('one', ['messages']), kind: 'anthropic', models: [{ id: 'claude-sonnet-5', reasoning: true }] },
      { ...provider('open', ['chat']), kind: 'openai', models: undefined },
    ],
    models: { aliases: { deep: 'one/claude-sonnet-5' }, details: { 'open/plain': { reasoning: false } } },
  } as unknown as Config
  const models = configuredModels(described)
  expect(['deep', 'open/plain', 'open/other'].map(id => models.reasons(id))).toEqual([true, false, true])
  expect(models.facts('deep', 'minimal').effort).toEqual({ level: 'minimal', word: 'low', control: 'adaptive' })
  expect(models.facts('open/gpt-5.5', 'max').effort).toEqual({ level: 'max', word: 'xhigh', control: 'effort' })
  expect(models.facts('deep', null)).toEqual({ id: 'deep' })
})

it('offers the models that are listed, by alias and id, as far as a format and an organization let them', () => {
  const models = configuredModels(config)
  expect(models.choices(undefined, null)).toEqual(['deep', 'fast', 'one/a', 'one/b', 'two/c'])
  expect(models.choices('messages', null)).toEqual(['deep', 'two/c'])
  expect(models.choices(undefined, new Set(['one/b', 'two/c']))).toEqual(['deep', 'one/b', 'two/c'])
  expect(models.choices('generate', null)).toEqual([])
})

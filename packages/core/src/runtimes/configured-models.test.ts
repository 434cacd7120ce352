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

it('offers the models that are listed, by alias and id, as far as a format and an organization let them', () => {
  const models = configuredModels(config)
  expect(models.choices(undefined, null)).toEqual(['deep', 'fast', 'one/a', 'one/b', 'two/c'])
  expect(models.choices('messages', null)).toEqual(['deep', 'two/c'])
  expect(models.choices(undefined, new Set(['one/b', 'two/c']))).toEqual(['deep', 'one/b', 'two/c'])
  expect(models.choices('generate', null)).toEqual([])
})

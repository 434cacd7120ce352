import type { Config } from '@berth/platform/settings/config-file.ts'
import { expect, test } from 'vitest'
import { RuntimeCatalog } from './catalog.ts'
import { configuredModels } from './configured-models.ts'
import { runtimeEntries } from './foreign/foreign-entries.ts'

test('an agent lists only the models that it can use', () => {
  const provider = (id: string, wire: readonly string[]) => ({ id, wire, models: [{ id: 'm' }] })
  const providers = [
    provider('chat', ['chat']),
    provider('openai', ['chat', 'responses']),
    provider('anthropic', ['messages']),
    provider('google', ['generate']),
  ]
  const models = configuredModels({ providers, models: { aliases: {} } } as unknown as Config)
  const entries = runtimeEntries([], { installs: '/nowhere', inside: '/opt/runtime', speaks: () => true })
  const catalog = new RuntimeCatalog(entries)
  const listed = catalog.describe(new Set(catalog.ids), format => models.choices(format, null), 'openai/m')
  expect(Object.fromEntries(listed.map(({ id, models: usable }) => [id, usable]))).toEqual({
    opencode: ['anthropic/m', 'chat/m', 'google/m', 'openai/m'],
    codex: ['openai/m'],
    'claude-code': ['anthropic/m'],
    gemini: ['google/m'],
    goose: ['anthropic/m', 'chat/m', 'google/m', 'openai/m'],
  })
  const usual = listed.flatMap(({ id, defaultModel }) => (defaultModel === 'openai/m' ? [id] : []))
  expect(usual).toEqual(['opencode', 'codex', 'goose'])
})

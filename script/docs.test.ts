import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSettings } from '../packages/server/src/settings/settings.ts'
import { renderSettings } from './docs/settings-page.ts'

const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'settings.md'), 'utf8')

test('docs/settings.md is what `node script/docs.ts` writes', () => {
  expect(page).toBe(renderSettings())
})

test('its example is a valid configuration file', () => {
  const example = /```json\n([\s\S]*?)```/.exec(page)?.[1]
  const environment = { LOCAL_API_KEY: 'x', GITHUB_APP_KEY: 'y' }
  const { config } = loadSettings(environment, () => example)
  expect(config.runtimes).toHaveLength(1)
})

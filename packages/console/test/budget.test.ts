import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { builtPages, dist, initialBytes, laterBytes } from './initial-bytes.ts'

test.each([
  ['session-page', 230],
  ['sessions-page', 230],
  ['new-session-page', 230],
  ['settings-page', 230],
  ['browsers-page', 230],
  ['notifications-page', 230],
  ['environments-page', 230],
  ['environment-page', 230],
  ['new-environment-page', 230],
  ['review-page', 230],
  ['pull-page', 230],
  ['pull-requests-page', 230],
  ['members-page', 230],
  ['integrations-page', 230],
  ['integration-page', 230],
  ['installations-page', 230],
  ['apps-page', 230],
  ['app-page', 230],
  ['webhooks-page', 230],
  ['webhook-page', 230],
  ['triggers-page', 230],
  ['trigger-page', 230],
  ['compute-page', 230],
  ['usage-page', 230],
  ['audit-page', 230],
  ['git-page', 230],
  ['models-page', 230],
  ['limits-page', 230],
  ['health-page', 230],
])('%s needs at most %i KiB', (page, kibibytes) => {
  const bytes = initialBytes(page)
  expect(bytes).toBeGreaterThan(100 * 1024)
  expect(bytes).toBeLessThanOrEqual(kibibytes * 1024)
})

test('no route is left out, and none needs more than 300 KiB', () => {
  const pages = builtPages()
  expect(pages.length).toBeGreaterThan(20)
  for (const page of pages) expect(initialBytes(page), page).toBeLessThanOrEqual(300 * 1024)
})

test('the changed lines of a Session need at most 130 KiB more', () => {
  const bytes = laterBytes('session-page', 'changes')
  expect(bytes).toBeGreaterThan(5 * 1024)
  expect(bytes).toBeLessThanOrEqual(130 * 1024)
})

test('nothing is loaded from another origin', () => {
  const index = readFileSync(join(dist, 'index.html'), 'utf8')
  expect([...index.matchAll(/(?:src|href)="([^"]*)"/g)].every(([, url = '']) => /^\/(?!\/)/.test(url))).toBe(true)
})

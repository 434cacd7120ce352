import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const dist = join(import.meta.dirname, '../dist')
const assets = join(dist, 'assets')

/** Returns the files that a chunk imports before it can run, itself included. */
function withImports(name: string, seen = new Set<string>()): Set<string> {
  if (seen.has(name)) return seen
  seen.add(name)
  if (!name.endsWith('.js')) return seen
  const source = readFileSync(join(assets, name), 'utf8')
  for (const [, , file = ''] of source.matchAll(/(?:^|[;}])(import|export)\b[^"'`();]*["'`]\.\/([\w.-]+)["'`]/g)) {
    withImports(file, seen)
  }
  return seen
}

/** Returns what has to arrive, compressed, before a page can be used. */
function initialBytes(page: string): number {
  const index = readFileSync(join(dist, 'index.html'), 'utf8')
  const named = [...index.matchAll(/\/assets\/([\w.-]+\.(?:js|css))/g)].map(([, name = '']) => name)
  const chunk = readdirSync(assets).find(name => name.startsWith(`${page}-`) && name.endsWith('.js'))
  if (chunk === undefined) throw new Error(`the build has no ${page}`)
  const files = [...named, chunk].reduce((seen, name) => withImports(name, seen), new Set<string>())
  return [...files].reduce((sum, name) => sum + statSync(join(assets, `${name}.gz`)).size, 0)
}

test.each([
  ['session-page', 230],
  ['sessions-page', 230],
  ['new-session-page', 230],
  ['settings-page', 230],
])('%s needs at most %i KiB', (page, kibibytes) => {
  const bytes = initialBytes(page)
  expect(bytes).toBeGreaterThan(100 * 1024)
  expect(bytes).toBeLessThanOrEqual(kibibytes * 1024)
})

test('nothing is loaded from another origin', () => {
  const index = readFileSync(join(dist, 'index.html'), 'utf8')
  expect([...index.matchAll(/(?:src|href)="([^"]*)"/g)].every(([, url = '']) => url.startsWith('/assets/'))).toBe(true)
})

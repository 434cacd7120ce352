import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aloneFiles, longFiles } from './lib/test-order.ts'

const root = join(import.meta.dirname, '..')

test.each([...aloneFiles, ...longFiles])('the order of test files names one that exists: %s', file => {
  expect(existsSync(join(root, file))).toBe(true)
})

test('a test file that replaces globals runs alone', () => {
  const files = globSync('packages/*/{src,test}/**/*.test.{ts,tsx}', { cwd: root })
  expect(files.length).toBeGreaterThan(100)
  const replacing = files.filter(file => readFileSync(join(root, file), 'utf8').includes('vi.stubGlobal('))
  expect(aloneFiles).toEqual(expect.arrayContaining(replacing))
})

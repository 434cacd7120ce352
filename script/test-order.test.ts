import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aloneFiles, CostliestFirst } from './lib/test-order.ts'

const root = join(import.meta.dirname, '..')

test.each(aloneFiles)('a test file that runs alone exists: %s', file => {
  expect(existsSync(join(root, file))).toBe(true)
})

test('a test file that replaces globals runs alone', () => {
  const files = globSync('packages/*/{src,test}/**/*.test.{ts,tsx}', { cwd: root })
  expect(files.length).toBeGreaterThan(100)
  const replacing = files.filter(file => readFileSync(join(root, file), 'utf8').includes('vi.stubGlobal('))
  expect(aloneFiles).toEqual(expect.arrayContaining(replacing))
})

test('the costliest files of a project begin first, and those that no one has measured last', async () => {
  const named = (name: string, file: string) => ({ project: { name }, moduleId: join(root, file) })
  const [cheap, dear] = ['script/steady.test.ts', 'packages/server/test/faults/chaos.test.ts']
  const given = [
    named('together', 'new.test.ts'),
    named('together', cheap),
    named('together', dear),
    named('alone', 'new.test.ts'),
  ]
  const sorted = await new CostliestFirst({ config: { root } } as never).sort(given as never)
  expect(sorted).toEqual([given[3], given[2], given[1], given[0]])
})

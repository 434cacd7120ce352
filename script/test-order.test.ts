import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aloneFiles, longFiles } from './lib/test-order.ts'

test.each([...aloneFiles, ...longFiles])('the order of test files names one that exists: %s', file => {
  expect(existsSync(join(import.meta.dirname, '..', file))).toBe(true)
})

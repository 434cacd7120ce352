import { expect, test } from 'vitest'
import { placeholderOf } from './placeholder.ts'

const seed = Buffer.alloc(32, 3)

test.each([
  ['GH_TOKEN', `ghp_${'a'.repeat(36)}`, /^ghp_[A-Za-z0-9]{36}$/],
  ['X', `github_pat_${'a'.repeat(82)}`, /^github_pat_[A-Za-z0-9]{82}$/],
  ['GITHUB_TOKEN', 'a'.repeat(40), /^ghp_[A-Za-z0-9]{36}$/],
  ['NPM_TOKEN', 'short', /^npm_[A-Za-z0-9]{22}$/],
  ['AWS_ACCESS_KEY_ID', 'AKIAIOSFODNN7EXAMPLE', /^AKIA[A-Za-z0-9]{22}$/],
  ['ANTHROPIC_API_KEY', `sk-ant-${'a'.repeat(90)}`, /^sk-ant-[A-Za-z0-9]{90}$/],
  ['SLACK_TOKEN', `xoxp-${'a'.repeat(50)}`, /^xoxp-[A-Za-z0-9]{50}$/],
  ['ANYTHING', 'x'.repeat(50), /^[A-Za-z0-9]{50}$/],
  ['LONG', 'x'.repeat(40_000), /^[A-Za-z0-9]{128}$/],
])('a placeholder of %s looks like its value', (name, value, shape) => {
  expect(placeholderOf(seed, name, value)).toMatch(shape)
})

test('a placeholder follows from its seed alone, and holds nothing of the value behind its beginning', () => {
  const value = `ghp_${'Z'.repeat(36)}`
  const one = placeholderOf(seed, 'GH_TOKEN', value)
  expect(placeholderOf(seed, 'GH_TOKEN', `ghp_${'Q'.repeat(36)}`)).toBe(one)
  expect(placeholderOf(Buffer.alloc(32, 4), 'GH_TOKEN', value)).not.toBe(one)
  expect(
    new Set(Array.from({ length: 200 }, (_, index) => placeholderOf(Buffer.alloc(32, index), 'A', 'b'))).size,
  ).toBe(200)
})

import { expect, test } from 'vitest'
import { coversHosts, fitsHost, shareHosts } from './host-pattern.ts'

test.each([
  ['api.example.com', 'api.example.com', true],
  ['api.example.com', '*.example.com', true],
  ['a.b.example.com', '*.example.com', true],
  ['example.com', '*.example.com', false],
  ['evilexample.com', '*.example.com', false],
  ['example.com.evil.org', '*.example.com', false],
])('%s fits %s: %s', (name, pattern, fits) => expect(fitsHost(name, pattern)).toBe(fits))

test.each([
  ['example.com', 'example.com', true],
  ['example.com', '*.example.com', false],
  ['*.example.com', '*.example.com', true],
  ['*.example.com', 'api.example.com', true],
  ['*.a.example.com', '*.example.com', true],
  ['*.a.example.com', 'a.example.com', false],
  ['*.a.example.com', '*.b.example.com', false],
  ['*.example.com', '*.notexample.com', false],
])('%s and %s share a name: %s', (one, other, share) =>
  expect([shareHosts(one, other), shareHosts(other, one)]).toEqual([share, share]),
)

test.each([
  ['*.example.com', 'api.example.com', true],
  ['*.example.com', '*.a.example.com', true],
  ['*.example.com', '*.example.com', true],
  ['*.example.com', 'example.com', false],
  ['*.a.example.com', '*.example.com', false],
  ['api.example.com', '*.example.com', false],
])('%s covers %s: %s', (wide, narrow, covers) => expect(coversHosts(wide, narrow)).toBe(covers))

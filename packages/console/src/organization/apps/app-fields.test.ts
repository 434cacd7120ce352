import { expect, test } from 'vitest'
import { pemFault, redirectFault, redirectsOf, slugFault } from './app-fields.ts'

test('addresses are lines', () => {
  expect(redirectsOf(' https://a.test/x \n\nhttps://b.test ')).toEqual(['https://a.test/x', 'https://b.test'])
})

test.each([
  [['https://a.test/x', 'http://127.0.0.1/y'], undefined],
  [['javascript:alert(1)'], 'This is no web address: javascript:alert(1)'],
  [['https://'], 'This is no web address: https://'],
  [['https://a.test', 'https://a.test'], 'An address is there twice.'],
  [Array.from({ length: 11 }, (_, at) => `https://a${at}.test`), 'At most 10 addresses are possible.'],
])('of %j it says %j', (redirects, fault) => {
  expect(redirectFault(redirects)).toBe(fault)
})

test.each([
  ['', true],
  ['web-shop', true],
  ['a', false],
  ['1a', false],
  ['Web', false],
  ['svc-mine', false],
  [`a${'b'.repeat(63)}`, false],
])('slug %j is fine: %s', (slug, fine) => {
  expect(slugFault(slug) === undefined).toBe(fine)
})

test('a private key is never taken', () => {
  expect(pemFault('-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n')).toBeUndefined()
  expect(pemFault('-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----')).toMatch(/private key/)
  expect(pemFault('ssh-ed25519 AAAA')).toMatch(/no public key/)
})

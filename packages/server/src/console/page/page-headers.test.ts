import { expect, test } from 'vitest'
import { contentSecurityPolicy, pageHeaders } from './page-headers.ts'

const rules = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'nonce-abc'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "frame-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types default',
]

test('the policy of the page lets in nothing of another origin', () => {
  expect(contentSecurityPolicy('abc').split('; ')).toEqual(rules)
  expect(contentSecurityPolicy(null).split('; ')).toEqual(rules.map(rule => rule.replace(" 'nonce-abc'", '')))
})

test('the page may use the microphone and write to the clipboard, and asks for https where it is reached so', () => {
  const { 'permissions-policy': features = '', ...headers } = pageHeaders(true)
  const allowed = features.split(', ').filter(feature => !feature.endsWith('=()'))
  expect(allowed).toEqual(['microphone=(self)', 'clipboard-write=(self)'])
  expect(features).toContain('clipboard-read=()')
  expect(headers).toEqual({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'strict-transport-security': 'max-age=31536000',
  })
  expect(pageHeaders(false)).not.toHaveProperty('strict-transport-security')
})

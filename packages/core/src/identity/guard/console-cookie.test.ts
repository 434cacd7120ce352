import { expect, test } from 'vitest'
import { consoleCookie, readCookie, setCookieOf } from './console-cookie.ts'

const [issuer, other] = ['https://auth.example/oidc', 'http://127.0.0.1:4101/oidc']

test('over https the cookie of the console is bound to its host, and goes to no other site', () => {
  const cookie = consoleCookie('console', 'https://console.example', issuer)
  expect(cookie).toEqual({ name: '__Host-svc_console', secure: true })
  // Without each of these a browser does not take the prefix.
  expect(setCookieOf(cookie, 'v', 'Strict', null)).toBe(
    '__Host-svc_console=v; Path=/; HttpOnly; SameSite=Strict; Secure',
  )
  const begun = consoleCookie('sign_in', 'https://console.example', issuer)
  expect(setCookieOf(begun, 'v', 'Lax', 600)).toBe(
    '__Host-svc_sign_in=v; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure',
  )
})

test('over http each deployment of the host has a cookie of its own, without a prefix', () => {
  const [one, two] = [issuer, other].map(from => consoleCookie('console', 'http://127.0.0.1:4100', from))
  expect(one?.name).toMatch(/^svc_console_[0-9a-f]{12}$/)
  expect(two?.name).not.toBe(one?.name)
  expect(one?.secure).toBe(false)
})

test.each([
  [undefined, null],
  ['a=1; svc=2;svc=3', '2'],
  ['xsvc=1', null],
  ['svc=', null],
])('the header %j has the value %j', (header, value) => {
  expect(readCookie(header, 'svc')).toBe(value)
})

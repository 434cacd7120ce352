import { expect, test } from 'vitest'
import { foreignCookies, ownCookies, previewCookie, readCookie } from './preview-cookie.ts'

test('a cookie is read under the name that it was set by', () => {
  for (const secure of [true, false]) {
    const [pair] = previewCookie(secure, 'secret').split(';')
    expect(readCookie(secure, `a=b; ${pair}`)).toBe('secret')
    expect(readCookie(!secure, pair)).toBeNull()
  }
  expect(readCookie(false, 'svc_preview=a; svc_preview=b')).toBeNull()
  expect(readCookie(false, undefined)).toBeNull()
})

test('the port gets no cookie of the service', () => {
  expect(foreignCookies('svc_preview=s; a=1; __Host-svc_console=c; svc_console_ab12=d; b=2')).toBe('a=1; b=2')
  expect(foreignCookies('__Host-svc_preview=s')).toBeUndefined()
})

test('the port sets cookies of its own host alone, and none of the service', () => {
  expect(
    ownCookies(['a=1; Path=/; Domain=preview.example; HttpOnly', 'svc_preview=x', ' __Host-svc_console=x', 'b=2']),
  ).toEqual(['a=1; Path=/; HttpOnly', 'b=2'])
})

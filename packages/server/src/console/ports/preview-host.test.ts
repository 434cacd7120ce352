import { expect, test } from 'vitest'
import { previewHost, readPreviewHost } from './preview-host.ts'

const domain = { scheme: 'http', host: 'localhost:4100' } as const
const label = 'abcdefghij234567abcd'

test('a host is read as it was written', () => {
  const host = previewHost(domain, { port: 3000, label })
  expect(host).toBe(`3000-${label}.localhost:4100`)
  expect(readPreviewHost(domain, host.toUpperCase())).toEqual({ port: 3000, label })
  const view = previewHost(domain, { port: null, label })
  expect([view, readPreviewHost(domain, view)]).toEqual([`view-${label}.localhost:4100`, { port: null, label }])
})

test.each([
  [undefined, null],
  ['', null],
  ['localhost:4100', null],
  ['127.0.0.1:4100', null],
  ['evil.example', null],
  [`3000-${label}.localhost:4101`, null],
  [`3000-${label}.localhost:4100.evil.example`, null],
  ['x.localhost:4100', 'other'],
  [`03000-${label}.localhost:4100`, 'other'],
  [`3000-${label}x.localhost:4100`, 'other'],
  [`a.3000-${label}.localhost:4100`, 'other'],
])('the host %s is %s', (host, expected) => {
  expect(readPreviewHost(domain, host)).toBe(expected)
})

import type { SecretEgress } from '@berth/contract'
import { describe, expect, test } from 'vitest'
import { completeRule, isNoWider, ruleFaults, valueFault } from './egress-rule.ts'

const bearer: SecretEgress = { hosts: ['api.example.com'], put: { header: 'Authorization' } }
const paths = (rule: SecretEgress) => ruleFaults(rule).map(({ path }) => path.join('.'))

describe('a rule', () => {
  test('is filled in, with Bearer for Authorization alone', () => {
    expect(completeRule(bearer)).toEqual({
      hosts: ['api.example.com'],
      put: { header: 'Authorization', format: 'Bearer {value}' },
      setup: false,
    })
    const put = (given: SecretEgress['put']) => completeRule({ ...bearer, put: given }).put
    expect(put({ header: 'authorization' })).toEqual({ header: 'authorization', format: 'Bearer {value}' })
    expect(put({ header: 'X-Key' })).toEqual({ header: 'X-Key', format: '{value}' })
    expect(put({ header: 'X-Key', format: 'key={value}' })).toEqual({ header: 'X-Key', format: 'key={value}' })
    expect(put({ basic: { user: '' } })).toEqual({ basic: { user: '' } })
    expect(put({ query: 'key' })).toEqual({ query: 'key' })
  })

  test.each<[string, SecretEgress['put'], string[]]>([
    ['two places', { header: 'X-Key', query: 'key' }, ['egress.put']],
    ['three places', { header: 'X-Key', basic: { user: 'u' }, query: 'key' }, ['egress.put']],
    ['a format alone', { format: 'Bearer {value}' }, ['egress.put']],
    ['a format of a query', { query: 'key', format: '{value}' }, ['egress.put.format']],
    ['a format with two places', { header: 'X-Key', format: '{value}{value}' }, ['egress.put.format']],
    ['the host of the request', { header: 'Host' }, ['egress.put.header']],
    ['the length of the request', { header: 'content-length' }, ['egress.put.header']],
    ['a header of proxies', { header: 'Proxy-Authorization' }, ['egress.put.header']],
  ])('is refused with %s', (_, put, expected) => expect(paths({ ...bearer, put })).toEqual(expected))

  test.each([
    ['localhost.localdomain', ['egress.hosts.0']],
    ['metadata.google.internal', ['egress.hosts.0']],
    ['*.cluster.local', ['egress.hosts.0']],
    ['*.example.com', []],
  ])('is judged for the host %s', (host, expected) => expect(paths({ ...bearer, hosts: [host] })).toEqual(expected))

  test('is refused for paths that lead up', () => {
    expect(
      paths({ ...bearer, paths: ['/v1', '/v1/../admin', '/./v1', '/a..b', '//v1', '/a%2Fb', '/..;/a', '/a%20b'] }),
    ).toEqual([1, 2, 4, 5, 6].map(at => `egress.paths.${at}`))
  })
})

test.each([
  ['one line', 'sk_live_0123456789', null, null, null],
  ['a line break at its end', 'sk_live\n', 'one line', 'one line', 'one line'],
  ['a carriage return', 'sk\rlive', 'one line', 'one line', 'one line'],
  ['a tabulator', 'sk\tlive', 'one line', 'one line', 'one line'],
  ['a control character of Latin 1', 'sk\u0085live', 'one line', 'one line', 'one line'],
  ['other letters', 'schlüssel', 'printable ASCII', null, null],
  ['a space at its end', 'sk_live ', 'printable ASCII', null, null],
  ['8192 bytes', 'v'.repeat(8192), null, null, null],
  ['8193 bytes', 'v'.repeat(8193), '8192 bytes', '8192 bytes', '8192 bytes'],
])('a value of %s is judged by where it is put', (_, value, header, basic, query) => {
  const faults = [{ header: 'X-Key' }, { basic: { user: 'u' } }, { query: 'key' }].map(put =>
    valueFault(value, completeRule({ ...bearer, put })),
  )
  expect(faults).toEqual([header, basic, query].map(part => (part === null ? null : expect.stringContaining(part))))
})

describe('a change of a rule', () => {
  const present: SecretEgress = {
    hosts: ['api.example.com', '*.cdn.example.com'],
    methods: ['GET', 'POST'],
    paths: ['/v1', '/files/'],
    put: { header: 'X-Key' },
  }
  const judge = (change: Partial<SecretEgress>, from = present) =>
    isNoWider(completeRule({ ...from, ...change }), completeRule(from))
  const { methods: _, paths: __, ...anyRequest } = present

  test.each<[string, Partial<SecretEgress>]>([
    ['nothing', {}],
    ['fewer hosts', { hosts: ['api.example.com'] }],
    ['a name below a pattern', { hosts: ['a.cdn.example.com', '*.b.cdn.example.com'] }],
    ['fewer methods', { methods: ['GET'] }],
    ['paths below', { paths: ['/v1/charges', '/files/', '/files/a'] }],
    ['its use in setup', { setup: true }],
  ])('of %s is no wider', (_, change) => expect(judge(change)).toBe(true))

  test.each<[string, Partial<SecretEgress>]>([
    ['another host', { hosts: ['api.example.com', 'evil.example.org'] }],
    ['a host above a pattern', { hosts: ['cdn.example.com'] }],
    ['a wider pattern', { hosts: ['*.example.com'] }],
    ['another method', { methods: ['GET', 'DELETE'] }],
    ['a path beside', { paths: ['/v10'] }],
    ['a path above', { paths: ['/'] }],
    ['a path that only begins alike', { paths: ['/files'] }],
    ['another header', { put: { header: 'X-Other' } }],
    ['another format', { put: { header: 'X-Key', format: 'a {value}' } }],
    ['the query', { put: { query: 'X-Key' } }],
  ])('to %s is wider', (_, change) => expect(judge(change)).toBe(false))

  test('is wider if it names no methods or no paths any more', () => {
    expect(isNoWider(completeRule(anyRequest), completeRule(present))).toBe(false)
    expect(isNoWider(completeRule(present), completeRule(anyRequest))).toBe(true)
  })
})

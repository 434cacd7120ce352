import { expect, test } from 'vitest'
import type { EgressSecret } from '../../driver.ts'
import { secret } from '../../testing/edge-clients.ts'
import { judgeHead } from './judge-head.ts'
import type { RequestHead } from './request-head.ts'

const { placeholder, value } = secret
const to = { host: 'api.example.com', isSecure: true }
const base64 = (text: string) => Buffer.from(text).toString('base64')
const basic: EgressSecret = { ...secret, put: { basic: { user: 'x-access-token' } } }
const query: EgressSecret = { ...secret, put: { query: 'key' } }

function head(headers: Readonly<Record<string, string>>, target = '/v1/things', method = 'GET'): RequestHead {
  return { method, target, headers: Object.entries({ Accept: '*/*', ...headers }) }
}

test.each([
  ['in the format', secret, { Authorization: `Bearer ${placeholder}` }, `Bearer ${value}`],
  ['behind another scheme', secret, { authorization: `token ${placeholder}` }, `Bearer ${value}`],
  ['alone', secret, { Authorization: placeholder }, `Bearer ${value}`],
  [
    'as a password',
    basic,
    { Authorization: `Basic ${base64(`me:${placeholder}`)}` },
    `Basic ${base64(`x-access-token:${value}`)}`,
  ],
  [
    'as a user',
    basic,
    { Authorization: `Basic ${base64(`${placeholder}:`)}` },
    `Basic ${base64(`x-access-token:${value}`)}`,
  ],
])('puts the secret in for a placeholder %s', (_, one, headers, sent) => {
  const judged = judgeHead([one], to, head(headers))
  if (judged.kind !== 'put') throw new Error(judged.kind)
  expect(judged.names).toEqual(['API_TOKEN'])
  expect(judged.head.headers.map(([name, text]) => [name.toLowerCase(), text])).toEqual([
    ['accept', '*/*'],
    ['authorization', sent],
  ])
})

test('puts the secret into one parameter of the query, encoded', () => {
  const odd = { ...query, value: 'a&b=c d"é' }
  const judged = judgeHead([odd], to, head({}, `/v1?a=1&key=${placeholder}&b=%20`))
  expect(judged).toMatchObject({ kind: 'put', head: { target: '/v1?a=1&key=a%26b%3Dc%20d%22%C3%A9&b=%20' } })
})

test('keeps values that look like patterns as they are', () => {
  const odd = {
    ...secret,
    value: `$& $1 "quoted" ${'x'.repeat(32 * 1024)}`,
    put: { header: 'X-Key', format: 'k={value}' },
  }
  const judged = judgeHead([odd], to, head({ 'x-key': `k=${placeholder}` }))
  expect(judged).toMatchObject({
    kind: 'put',
    head: {
      headers: [
        ['Accept', '*/*'],
        ['x-key', `k=${odd.value}`],
      ],
    },
  })
})

test('puts two secrets into one request', () => {
  const other = {
    ...secret,
    name: 'OTHER',
    placeholder: 'other-placeholder-123456',
    put: { header: 'X-Other', format: '{value}' },
  }
  const sent = head({ Authorization: `Bearer ${placeholder}`, 'X-Other': other.placeholder })
  expect(judgeHead([secret, other], to, sent)).toMatchObject({ kind: 'put', names: ['API_TOKEN', 'OTHER'] })
})

const right = { Authorization: `Bearer ${placeholder}` }
test.each<[string, EgressSecret, typeof to, RequestHead, string]>([
  ['the URL', secret, to, head({}, `/v1/${placeholder}`), 'in the header Authorization: Bearer $API_TOKEN'],
  ['the URL, encoded', secret, to, head({}, `/v1/%70${placeholder.slice(1)}`), 'only once'],
  ['another header', secret, to, head({ 'X-Debug': placeholder }), 'only once'],
  ['its header and another', secret, to, head({ ...right, 'X-Debug': placeholder }), 'only once'],
  ['its header twice', secret, to, head({ Authorization: `Bearer ${placeholder} ${placeholder}` }), 'only once'],
  [
    'two headers of its name',
    secret,
    to,
    { ...head(right), headers: [...Object.entries(right), ...Object.entries(right)] },
    'only once',
  ],
  ['a header with more in it', secret, to, head({ Authorization: `Bearer ${placeholder}, x=y` }), 'only once'],
  ['the name of a header', secret, to, head({ [placeholder]: 'x' }), 'only once'],
  [
    'basic authentication of a secret for a header',
    secret,
    to,
    head({ Authorization: `Basic ${base64(`u:${placeholder}`)}` }),
    'only once',
  ],
  [
    'user and password',
    basic,
    to,
    head({ Authorization: `Basic ${base64(`${placeholder}:${placeholder}`)}` }),
    'password of basic',
  ],
  ['a header of a secret for basic authentication', basic, to, head(right), 'password of basic'],
  ['another parameter', query, to, head({}, `/v1?other=${placeholder}`), 'query parameter key'],
  ['its parameter twice', query, to, head({}, `/v1?key=${placeholder}&key=${placeholder}`), 'query parameter key'],
  ['its parameter and the path', query, to, head({}, `/${placeholder}?key=${placeholder}`), 'query parameter key'],
  ['a part of its parameter', query, to, head({}, `/v1?key=x${placeholder}`), 'query parameter key'],
  ['a request to another host', secret, { ...to, host: 'evil.example' }, head(right), 'goes only to api.example.com'],
  ['a request to a name below its host', secret, { ...to, host: 'x.api.example.com' }, head(right), 'goes only to'],
  ['plain HTTP', secret, { ...to, isSecure: false }, head(right), 'only over HTTPS'],
  ['another method', { ...secret, methods: ['GET'] }, to, head(right, '/v1/things', 'DELETE'), 'only with GET'],
  ['TRACE', secret, to, head(right, '/', 'TRACE'), 'TRACE'],
  ['another path', { ...secret, paths: ['/v1/things'] }, to, head(right, '/v1/thingsandmore'), 'below /v1/things'],
  ['a path with dots', { ...secret, paths: ['/v1'] }, to, head(right, '/v1/../admin'), 'below /v1'],
  ['a path with encoded dots', { ...secret, paths: ['/v1'] }, to, head(right, '/v1/%2e%2E/admin'), 'below /v1'],
  ['a path with dots and a parameter', { ...secret, paths: ['/v1'] }, to, head(right, '/v1/..;a=b/admin'), 'below /v1'],
  ['a path with an encoded slash', { ...secret, paths: ['/v1'] }, to, head(right, '/v1%2f..%2fadmin'), 'below /v1'],
  ...[
    ...['X-HTTP-Method-Override', 'x-http-method', 'X_METHOD_OVERRIDE'],
    ...['X-Original-URL', 'X-Rewrite-URL', 'x-forwarded-uri'],
  ].flatMap(name =>
    [{ methods: ['GET'] }, { paths: ['/v1'] }].map((rule): [string, EgressSecret, typeof to, RequestHead, string] => [
      `a request with ${name}`,
      { ...secret, ...rule },
      to,
      head({ ...right, [name]: 'x' }),
      `does not go out with the header ${name}`,
    ]),
  ),
  ['a request with _method', { ...secret, methods: ['GET'] }, to, head(right, '/?a=1&%5Fmethod=DELETE'), '_method'],
])('refuses a placeholder in %s', (_, one, where, sent, reason) => {
  const judged = judgeHead([one], where, sent)
  expect(judged).toMatchObject({ kind: 'refuse', name: 'API_TOKEN' })
  expect(JSON.stringify(judged)).toContain(reason)
  expect(JSON.stringify(judged)).not.toContain(value)
})

test.each([
  ['below its path', '/v1/things/1?x=/admin'],
  ['at its path', '/v1/things?x'],
])('takes a request %s', (_, target) => {
  expect(judgeHead([{ ...secret, paths: ['/v1/things'] }], to, head(right, target)).kind).toBe('put')
})

test('takes another method or path in a header where the rule names neither, and in requests without a placeholder', () => {
  const more = { 'X-HTTP-Method-Override': 'DELETE', 'X-Original-URL': '/admin' }
  expect(judgeHead([secret], to, head({ ...right, ...more })).kind).toBe('put')
  expect(judgeHead([{ ...secret, methods: ['GET'] }], to, head(more)).kind).toBe('pass')
})

test('passes requests without a placeholder, and other credentials', () => {
  for (const headers of [{}, { Authorization: 'Bearer own' }, { Authorization: `Basic ${base64('a:b')}` }]) {
    expect(judgeHead([secret, basic, query], to, head(headers))).toEqual({ kind: 'pass' })
  }
})

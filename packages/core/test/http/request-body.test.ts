import { limits, originLimits, sourceLimits } from '@berth/contract'
import { describe, expect, test } from 'vitest'
import { rawRequest, readRaw, sendRaw } from '../../src/http/testing/raw-http.ts'
import { otherId, readRefusal, sessionId, startTestApp, type TestApp } from '../../src/http/testing/test-app.ts'

const json = { 'content-type': 'application/json' }

const put = (service: TestApp, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json) =>
  service.call('PUT', `/v1/sessions/${sessionId}`, { body, headers })

const issues = async (response: Response) => {
  const body = await readRefusal(response)
  expect([response.status, body.error]).toEqual([400, 'invalid_request'])
  return body.issues?.map(issue => issue.path) ?? []
}

describe('media types', () => {
  test.each(['application/json', 'application/json; charset=UTF-8', 'APPLICATION/JSON', 'application/vnd.x+json'])(
    '%s is accepted',
    async contentType => {
      await using service = await startTestApp()
      expect((await put(service, '{}', { 'content-type': contentType })).status).toBe(204)
    },
  )

  test.each([
    'text/plain',
    'application/jsonx',
    'application/x-www-form-urlencoded',
    'garbage',
    'application/json; charset=latin1',
  ])('%s is refused', async mediaType => {
    await using service = await startTestApp()
    const response = await put(service, '{}', { 'content-type': mediaType })
    expect([response.status, await response.json()]).toEqual([415, { error: 'unsupported_media_type', mediaType }])
  })

  test('a body without a type is refused with that reason', async () => {
    await using service = await startTestApp()
    const headers = ['Authorization: Bearer good', 'Content-Length: 2']
    const response = await sendRaw(service.port, rawRequest('PUT', `/v1/sessions/${sessionId}`, headers, '{}'))
    expect(readRaw(response)).toEqual({ status: 415, body: { error: 'unsupported_media_type' } })
  })

  test('an encoded body is refused', async () => {
    await using service = await startTestApp()
    expect((await put(service, '{}', { ...json, 'content-encoding': 'gzip' })).status).toBe(415)
  })
})

describe('size', () => {
  const ofSize = (bytes: number) => `{"title":"${'a'.repeat(bytes - 12)}"}`

  test('a body of exactly 1 MB is read, and one byte more is refused', async () => {
    await using service = await startTestApp()
    expect(await issues(await put(service, ofSize(limits.bodyBytes)))).toEqual([['title']])
    const response = await put(service, ofSize(limits.bodyBytes + 1))
    expect([response.status, await response.json()]).toEqual([413, { error: 'request_entity_too_large' }])
  })

  test('a body of unannounced length is measured as it arrives', async () => {
    await using service = await startTestApp()
    const chunk = new TextEncoder().encode('a'.repeat(65_536))
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(chunk)
        if (++sent === 40) controller.close()
      },
    })
    let sent = 0
    const init: RequestInit & { duplex: 'half' } = { body, headers: json, duplex: 'half' }
    const response = await service.call('PUT', `/v1/sessions/${sessionId}`, init)
    expect([response.status, await response.json()]).toEqual([413, { error: 'request_entity_too_large' }])
  })
})

describe('parsing', () => {
  test.each(['', '{', '{"a":1,}', 'undefined', '{} {}'])('%j is malformed', async body => {
    await using service = await startTestApp()
    const response = await put(service, body)
    expect([response.status, await response.json()]).toEqual([400, { error: 'malformed_request_body' }])
  })

  test('bytes that are not UTF-8 are malformed', async () => {
    await using service = await startTestApp()
    const response = await put(service, new Uint8Array([0x22, 0xff, 0x22]))
    expect([response.status, await response.json()]).toEqual([400, { error: 'malformed_request_body' }])
  })

  test.each(['null', '[]', '"text"', '1', '['.repeat(100_000) + ']'.repeat(100_000)])(
    '%.20j is no object',
    async body => {
      await using service = await startTestApp()
      expect((await issues(await put(service, body)))[0]).toEqual([])
    },
  )

  test('an operation without a body accepts none, an empty one, or an empty object', async () => {
    await using service = await startTestApp()
    const cancel = (init: RequestInit) => service.call('POST', `/v1/sessions/${sessionId}/runs/${otherId}/cancel`, init)
    expect((await cancel({})).status).toBe(204)
    expect((await cancel({ headers: json })).status).toBe(204)
    expect((await cancel({ headers: json, body: '{}' })).status).toBe(204)
    expect(await issues(await cancel({ headers: json, body: '{"force":true}' }))).toEqual([['force']])
    expect((await cancel({ headers: { 'content-type': 'text/plain' }, body: 'x' })).status).toBe(415)
  })
})

describe('validation', () => {
  test('every fault is named and none is corrected', async () => {
    await using service = await startTestApp()
    const body = {
      title: 1,
      unknown: true,
      initialTurn: { id: 'x', extra: 1 },
      origin: { url: 'http://example.com' },
      source: { grantId: sessionId, repositoryId: '1x' },
      environment: {},
      runtime: 'Upper',
    }
    expect(await issues(await put(service, JSON.stringify(body)))).toEqual(
      expect.arrayContaining([
        ['unknown'],
        ['title'],
        ['initialTurn', 'message'],
        ['initialTurn', 'extra'],
        ['initialTurn', 'id'],
        ['origin', 'url'],
        ['source', 'repositoryId'],
        ['environment', 'id'],
        ['runtime'],
      ]),
    )
  })

  test('an array member is named by its index', async () => {
    await using service = await startTestApp()
    const body = JSON.stringify({
      message: 'a',
      files: [
        { name: 'a', content: '' },
        { name: '../a', content: 'YQ=' },
      ],
    })
    const response = await service.call('PUT', `/v1/sessions/${sessionId}/turns/${otherId}`, { body, headers: json })
    expect(await issues(response)).toEqual([
      ['files', 1, 'name'],
      ['files', 1, 'content'],
    ])
  })

  test('an empty PATCH changes nothing and is refused', async () => {
    await using service = await startTestApp()
    expect(
      await issues(await service.call('PATCH', `/v1/sessions/${sessionId}`, { body: '{}', headers: json })),
    ).toEqual([[]])
  })

  test.each([
    ['"a\\u0000"', ['title']],
    ['"\\ud800"', ['title']],
    ['"\\ude00\\ud83d"', ['title']],
  ])('text that cannot be stored is refused: %s', async (text, path) => {
    await using service = await startTestApp()
    expect(await issues(await put(service, `{"title":${text}}`))).toEqual([path])
    expect(await issues(await put(service, `{"origin":{"label":${text}}}`))).toEqual([['origin', 'label']])
  })

  test('member names are checked like other text', async () => {
    await using service = await startTestApp()
    const [unknown, faulty] = await issues(await put(service, '{"a\\u0000":1}'))
    expect([unknown, faulty]).toEqual([['a\0'], ['a\0']])
    expect(await issues(await put(service, '{"__proto__":{}}'))).toEqual([['__proto__']])
  })

  const astral = (count: number) => '😀'.repeat(count)
  const bounds: readonly (readonly [string, number, (text: string) => object])[] = [
    ['title', limits.titleCharacters, title => ({ title })],
    ['model', limits.modelCharacters, model => ({ model })],
    ['message', limits.messageCharacters, message => ({ initialTurn: { id: otherId, message } })],
    ['origin.tenantKey', originLimits.tenantKey, tenantKey => ({ origin: { tenantKey } })],
    ['origin.objectType', originLimits.objectType, objectType => ({ origin: { objectType } })],
    ['origin.objectId', originLimits.objectId, objectId => ({ origin: { objectId } })],
    ['origin.endUserId', originLimits.endUserId, endUserId => ({ origin: { endUserId } })],
    ['origin.label', originLimits.label, label => ({ origin: { label } })],
    ['source.label', sourceLimits.label, label => ({ source: { grantId: otherId, repositoryId: '1', label } })],
    [
      'source.baseBranch',
      sourceLimits.baseBranch,
      baseBranch => ({ source: { grantId: otherId, repositoryId: '1', baseBranch } }),
    ],
  ]
  test.each(bounds)('%s holds %i characters, counted as code points', async (_, maximum, make) => {
    await using service = await startTestApp()
    expect((await put(service, JSON.stringify(make(astral(maximum))))).status).toBe(204)
    expect(await issues(await put(service, JSON.stringify(make(astral(maximum + 1)))))).toHaveLength(1)
  })

  test.each([
    ['a'.repeat(64), 204],
    ['a'.repeat(65), 400],
  ])('runtime %#', async (runtime, status) => {
    await using service = await startTestApp()
    expect((await put(service, JSON.stringify({ runtime }))).status).toBe(status)
  })

  test.each([
    [2048, 204],
    [2049, 400],
  ])('a URL of %i characters', async (length, status) => {
    await using service = await startTestApp()
    const url = 'https://example.com/'.padEnd(length, 'a')
    expect((await put(service, JSON.stringify({ origin: { url } }))).status).toBe(status)
  })

  test('null is accepted wherever the contract allows it', async () => {
    await using service = await startTestApp()
    expect((await put(service, '{"model":null,"runtime":null,"environment":null}')).status).toBe(204)
    expect(await issues(await put(service, '{"title":null}'))).toEqual([['title']])
  })
})

test('ids reach the handler in lower case', async () => {
  await using service = await startTestApp()
  const upper = otherId.toUpperCase()
  const body = { initialTurn: { id: upper, message: 'A' }, environment: { id: upper }, origin: { objectId: upper } }
  await service.call('PUT', `/v1/sessions/${sessionId.toUpperCase()}`, { body: JSON.stringify(body), headers: json })
  expect(service.requests[0]?.request).toMatchObject({
    params: { sessionId },
    body: { initialTurn: { id: otherId }, environment: { id: otherId }, origin: { objectId: upper } },
  })
})

import { once } from 'node:events'
import { connect } from 'node:net'
import { capabilities } from '@berth/contract'
import { describe, expect, test } from 'vitest'
import { BodyBudget, defaultBodyBounds } from '../../src/http/body/body-budget.ts'
import { BodyBuffer } from '../../src/http/body/body-buffer.ts'
import { ValueCounter } from '../../src/http/body/value-counter.ts'
import type { GatewaySurface } from '../../src/http/gateway/routes.ts'
import type { GatewayHandlers, GatewayRequest } from '../../src/http/routing/handler.ts'
import { readRaw } from '../../src/http/testing/raw-http.ts'
import { metering, otherId, readRefusal, sessionId, startTestApp } from '../../src/http/testing/test-app.ts'
import type { GatewayCaller } from '../../src/identity/guard/gateway-caller.ts'

const json = { 'content-type': 'application/json' }
const turn = `/v1/sessions/${sessionId}/turns/${otherId}`
const caller: GatewayCaller = {
  kind: 'ai_key',
  organizationId: sessionId,
  capabilities: new Set(capabilities),
  apiKeyId: otherId,
  installationId: otherId,
  personId: null,
  endUserId: null,
  run: null,
  allowedModels: null,
  quotaEndsAtMs: null,
  hasBudget: false,
}

/** A gateway that answers with the request that its handler got. */
function openGateway(seen: GatewayRequest[] = []): GatewaySurface {
  const handle = async (request: GatewayRequest) => {
    seen.push(request)
    return { contentType: 'application/json', body: '{}' }
  }
  const handlers: GatewayHandlers = {
    listModels: handle,
    getModel: handle,
    listContentModels: handle,
    getContentModel: handle,
    createResponse: handle,
    createChatCompletion: handle,
    createMessage: handle,
    countMessageTokens: handle,
    generateContent: handle,
    streamGenerateContent: handle,
    countContentTokens: handle,
  }
  return {
    handlers,
    authority: { judge: async () => ({ kind: 'granted', caller, metering }) },
    bodyLimitBytes: 32 * 1024 ** 2,
    clientPatienceMs: 10_000,
    graceMs: 0,
  }
}

const chat = (members: string) => `{"model":"m","messages":[{"role":"user"}]${members}}`

describe('values', () => {
  test.each([
    ['too many', `[${'{},'.repeat(30_000)}{}]`, 'holds more values than this operation allows'],
    ['too many levels of them', `${'['.repeat(1_000)}1${']'.repeat(1_000)}`, 'nests deeper than 1000 levels'],
  ])('are counted before a body is parsed, and %s are refused', async (_, files, message) => {
    await using service = await startTestApp()
    const response = await service.call('PUT', turn, { headers: json, body: `{"files":${files}}` })
    const issues = [{ path: [], message }]
    expect([response.status, await response.json()]).toEqual([400, { error: 'invalid_request', issues }])
  })

  test.each([
    ['nothing but opening brackets', '['.repeat(1_000_000)],
    ['an end that is missing', `{"files":[${'{},'.repeat(30_000)}`],
    ['a bracket of the other kind', `[${'{},'.repeat(30_000)}{}}`],
    ['more behind its end', `[${'{},'.repeat(30_000)}{}]]`],
    ['a value that is none', `[${'{},'.repeat(30_000)}nul]`],
  ])('of a body that is no JSON do not hide that: %s', async (_, body) => {
    await using service = await startTestApp()
    const response = await service.call('PUT', turn, { headers: json, body })
    expect([response.status, await response.json()]).toEqual([400, { error: 'malformed_request_body' }])
  })

  test("are counted at the gateway, which refuses in its clients' format", async () => {
    await using service = await startTestApp({ gateway: openGateway() })
    const send = async (rest: string) => {
      const body = chat(`,"stop":[${'{},'.repeat(120_000)}${rest}`)
      const response = await service.call('POST', '/v1/chat/completions', { headers: json, body })
      return [response.status, await response.json()]
    }
    const refused = (code: string) => [400, { error: { type: 'invalid_request_error', code } }]
    expect(await send('{}]')).toMatchObject(refused('invalid_request'))
    expect(await send('')).toMatchObject(refused('malformed_request_body'))
  })

  test('are not counted inside text', async () => {
    await using service = await startTestApp()
    const body = JSON.stringify({ message: '[{,"\\'.repeat(15_000) })
    expect((await service.call('PUT', turn, { headers: json, body })).status).toBe(204)
  })

  test.each<[text: string, count: number, isLong?: true]>([
    ['{}', 1],
    ['[1,2,3]', 3],
    ['{"a":"[,{","b":[{}]}', 4],
    ['"\\",[\\\\",', 1],
    ['[123456789012345,-0.1234567890123,1e99,0,"1234567890123456"]', 5],
    ['-0.12345678901234', 0, true],
    ['[1234567890123456,12345678901234.5e1,1E-300]', 3, true],
  ])('of %s are %i, however it is cut, and too long a number is found', (text, count, isLong) => {
    const bytes = Buffer.from(text)
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const counter = new ValueCounter()
      counter.take(bytes.subarray(0, cut))
      counter.take(bytes.subarray(cut))
      expect([counter.count, counter.holdsLongNumbers]).toEqual([count, isLong === true])
    }
  })
})

describe('the grammar that is followed as values are counted', () => {
  const texts = [
    '{"a":[1,-0.5e+3,true,false,null,"x\\u00e9\\n\\"\u00e9"],"b":{}}',
    ' {"":[[],{}]} ',
    '[1E5,2.0,0e-1]',
    '[123456789012345678,12345678.123456789,1e1234]',
    '\ufeff"a"',
    '-1',
  ]
  const pieces = [...'{}[],:"\\ \t01-+.eEtfnu\u0001\u00e9\ufeff', '']
  const isJson = (bytes: Uint8Array) => {
    try {
      JSON.parse(new TextDecoder().decode(bytes))
      return true
    } catch {
      return false
    }
  }

  test.each(texts)('is that of the parser: %s with any change of a character', text => {
    const characters = [...text]
    const wrong = characters.flatMap((_, at) =>
      [0, 1].flatMap(removed =>
        pieces.flatMap(piece => {
          const bytes = Buffer.from([...characters.slice(0, at), piece, ...characters.slice(at + removed)].join(''))
          const counter = new ValueCounter()
          counter.take(bytes.subarray(0, at))
          counter.take(bytes.subarray(at))
          const isRight = counter.isWhole === isJson(bytes) && !(counter.isWhole && counter.isBroken)
          return isRight ? [] : [bytes.toString()]
        }),
      ),
    )
    expect(wrong).toEqual([])
  })

  test('knows the kind of every open value, however deep', () => {
    const open = Array.from({ length: 3000 }, (_, depth) => (depth % 7 < 3 ? ['{"a":', '}'] : ['[', ']']))
    const whole = `${open.map(([opening]) => opening).join('')}0${open
      .map(([, closing]) => closing)
      .toReversed()
      .join('')}`
    for (const [text, isWhole] of [
      [whole, true],
      [whole.slice(0, -1), false],
      [`${whole.slice(0, -1)}]`, false],
    ] as const) {
      const counter = new ValueCounter()
      counter.take(Buffer.from(text))
      expect(counter.isWhole).toBe(isWhole)
    }
  })
})

describe('faults', () => {
  const faulty = (padding: number) => JSON.stringify({ message: '', model: 'x'.repeat(padding), more: 1 })
  const send = async (padding: number) => {
    await using service = await startTestApp()
    const response = await service.call('PUT', turn, { headers: json, body: faulty(padding) })
    return (await readRefusal(response)).issues
  }

  test('of a small body are all reported, of a larger one only the first', async () => {
    expect((await send(1000))?.length).toBeGreaterThan(1)
    expect(await send(70_000)).toHaveLength(1)
  })
})

describe('a large body of the gateway', () => {
  const many = Array.from({ length: 15_000 }, (_, index) => `{"role":"user","content":${index}}`).join()
  const large = `{"model":"m","messages":[${many}],"metadata":{"__proto__":"x"},"stop":["a"]}`

  test('reaches the handler like a small one', async () => {
    const seen: GatewayRequest[] = []
    await using service = await startTestApp({ gateway: openGateway(seen) })
    expect((await service.call('POST', '/v1/chat/completions', { headers: json, body: large })).status).toBe(200)
    const [request] = seen
    expect(Object.keys(request?.body ?? {})).toEqual(expect.arrayContaining(['model', 'messages', 'metadata', 'stop']))
    expect(JSON.parse(JSON.stringify(request?.body))).toEqual(JSON.parse(large))
  })

  test.each([
    ['that is no JSON', large.slice(0, -1), 'malformed_request_body'],
    ['with a fault', large.replace('"stop":["a"]', '"stop":[{}]'), 'invalid_request'],
    ['with an unknown member', large.replace('"stop"', '"unknown"'), 'invalid_request'],
    ['with text that cannot be stored', large.replace('"a"', '"\\u0000"'), 'invalid_request'],
  ])('%s is refused like a small one', async (_, body, code) => {
    await using service = await startTestApp({ gateway: openGateway() })
    const response = await service.call('POST', '/v1/chat/completions', { headers: json, body })
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code } }])
  })
})

describe('a body that does not end', () => {
  // bound: it is to be over
  const bodies = { ...defaultBodyBounds, patienceMs: 50 }
  const head = (path: string, key: string) =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Length: 1000\r\n`

  test.each([
    ['/v1/chat/completions', 'application/json'],
    [`/v1/sessions/${sessionId}/runs/${otherId}/cancel`, 'application/json'],
  ])('is given up: %s', async (path, type) => {
    await using service = await startTestApp({ gateway: openGateway(), bodies })
    const socket = connect(service.port, '127.0.0.1', () => {
      socket.write(`${head(path, 'good')}Content-Type: ${type}\r\n\r\n{"model":`)
    })
    let received = ''
    socket.setEncoding('utf8').on('data', data => {
      received += data
    })
    await once(socket, 'close')
    expect(readRaw(received).status).toBe(408)
    expect(received).toContain('request_timeout')
  })
})

describe('the budget of bodies', () => {
  const bounds = { processBytes: 100, callerBytes: 40, callerBodies: 2, patienceMs: 10_000 }
  const owner = (organizationId: string, id: string) => ({ organizationId, id })

  test('limits a caller, an organization and the process, and recovers all of it', () => {
    const budget = new BodyBudget(bounds)
    const first = budget.open(owner('a', '1'))
    expect([first.grow(40), first.grow(1)]).toEqual([true, false])
    const second = budget.open(owner('a', '1'))
    expect(second.grow(1)).toBe(false)
    const sibling = budget.open(owner('a', '2'))
    expect([sibling.grow(10), sibling.grow(1)]).toEqual([true, false])
    const other = budget.open(owner('b', '1'))
    const third = budget.open(owner('c', '1'))
    expect([other.grow(40), third.grow(11), third.grow(10)]).toEqual([true, false, true])
    first.release()
    first.release()
    expect([budget.bytes, second.grow(40), first.grow(1)]).toEqual([60, true, false])
    for (const claim of [second, sibling, other, third]) claim.release()
    expect(budget.bytes).toBe(0)
  })

  test('limits the bodies of a caller that are arriving', () => {
    const budget = new BodyBudget(bounds)
    const claims = [1, 2, 3].map(() => budget.open(owner('a', '1')))
    expect(claims.map(claim => claim.arrive())).toEqual([true, true, false])
    claims[0]?.arrived()
    claims[1]?.release()
    expect([1, 2, 3].map(() => budget.open(owner('a', '1')).arrive())).toEqual([true, true, false])
  })

  test('counts a body by its final size, and gathers it whole however it arrives', () => {
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251))
    for (const size of [1, 1000, 65_536, 200_000]) {
      const buffer = new BodyBuffer(size === 1000 ? 1_000_000 : bytes.length)
      for (let at = 0; at < bytes.length; at += size) buffer.append(bytes.subarray(at, at + size))
      expect(buffer.take().equals(bytes)).toBe(true)
      expect(buffer.length).toBe(0)
    }
  })

  test('has room for small bodies beside the arriving ones, even if their length is unknown', async () => {
    await using service = await startTestApp({ bodies: { ...defaultBodyBounds, callerBodies: 1 } })
    using stack = new DisposableStack()
    /** Sends the beginning of a body in chunks; reports a refusal, or that the service has read a complete body. */
    const begin = (bytes: number) => {
      const socket = connect(service.port, '127.0.0.1')
      stack.defer(() => socket.destroy())
      const head = `PUT ${turn} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\n`
      const body = `{"message":"${'a'.repeat(bytes)}`
      socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`)
      return {
        end: () => socket.write('2\r\n"}\r\n0\r\n\r\n'),
        answer: once(socket, 'data').then(([data]) => readRaw(String(data)).status),
      }
    }
    const small = [begin(10), begin(10), begin(10)]
    const [one, other] = [begin(70_000), begin(70_000)]
    expect(await Promise.race([one.answer, other.answer])).toBe(503)
    for (const { end } of [...small, one, other]) end()
    expect(await Promise.all(small.map(({ answer }) => answer))).toEqual([204, 204, 204])
    expect((await Promise.all([one.answer, other.answer])).toSorted()).toEqual([204, 503])
  })

  test("refuses a small body of the gateway's if there is no room", async () => {
    const bodies = { ...defaultBodyBounds, callerBytes: 500 }
    await using service = await startTestApp({ gateway: openGateway(), bodies })
    const ask = (padding: number) =>
      service.call('POST', '/v1/chat/completions', { headers: json, body: chat(`,"user":"${'a'.repeat(padding)}"`) })
    const refused = await ask(500)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
    expect((await ask(10)).status).toBe(200)
  })
})

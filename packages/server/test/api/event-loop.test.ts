import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { limits, type OperationId, operationIds, operationOf } from '@berth/contract'
import { type BadBody, badApiBodies, badGatewayBodies } from '@berth/testing/api/worst-bodies.ts'
import { readWhile } from '@berth/testing/events/paced-reader.ts'
import { type GatewayProcess, startGatewayProcess } from '@berth/testing/services/gateway-process.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

let service: GatewayProcess
beforeAll(async () => {
  service = await startGatewayProcess()
})
afterAll(() => service[Symbol.asyncDispose]())

const id = randomUUID()

/** Members without which the contract would refuse a body before it looks at the bad member. */
const valid: Partial<Record<OperationId, object>> = {
  createSession: {},
  updateSession: {},
  submitTurn: { message: 'a' },
  decideInteraction: { requestId: id, choice: 'a', idempotencyKey: id },
  createPublication: { revision: 'a'.repeat(64), title: 'a', delivery: 'pull_request', draft: false },
  createMerge: { strategy: 'merge', mode: 'direct' },
}

const boundary = 'b'
const form: BadBody = {
  name: 'what nearly is a boundary',
  kind: null,
  make: () =>
    Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`),
      Buffer.alloc(limits.audioBytes, '\r\n--'),
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
}

const gatewayBodies: Partial<Record<OperationId, readonly BadBody[]>> = badGatewayBodies
const bodiesOf = (operation: OperationId): readonly BadBody[] =>
  operationOf(operation).form === undefined
    ? (gatewayBodies[operation] ?? badApiBodies(operation, valid[operation] ?? {}))
    : [form]

/**
 * Sends a body.
 * @returns the status
 */
async function send(operation: OperationId, caller: { apiKey: string; aiKey: string }, body: BadBody, bytes: Buffer) {
  const row = operationOf(operation)
  const path = row.path.replaceAll('{model}', `${body.kind}%2Fm`).replaceAll(/\{\w+\}/g, id)
  const key = row.access === 'gateway' ? caller.aiKey : caller.apiKey
  const type = row.form === undefined ? 'application/json' : `multipart/form-data; boundary=${boundary}`
  const query = row.path.includes(':stream') ? '?alt=sse' : ''
  const outgoing = request(service.url + path + query, {
    method: row.method,
    headers: { authorization: `Bearer ${key}`, 'content-type': type, 'content-length': bytes.length },
  })
  outgoing.end(bytes)
  const [response]: IncomingMessage[] = await once(outgoing, 'response')
  await response?.resume().toArray()
  return response?.statusCode
}

/** Milliseconds of a processor to parse a body of the largest size and to write it again, as the gateway does. */
function leastMs(): number {
  const bytes = badGatewayBodies.createResponse[1].make()
  const before = process.threadCpuUsage()
  Buffer.from(JSON.stringify(JSON.parse(new TextDecoder().decode(bytes))))
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

test('the worst body of no route keeps the event loop from another tenant for much longer than it takes to parse', {
  timeout: 1_200_000,
}, async () => {
  const [attacker, other] = [await service.newCaller(), await service.newCaller()]
  const reader = { url: `${service.url}/v1/sessions`, key: other.apiKey, pid: service.pid }
  const small = JSON.stringify({ model: 'anthropic/m', messages: [{ role: 'user', content: 'a' }] })
  // The first request of each kind loads code; later ones do not.
  for (const kind of ['anthropic', 'google'] as const) {
    const body: BadBody = { name: '', kind, make: () => Buffer.from(small.replace('anthropic', kind)) }
    await readWhile(reader, send('createChatCompletion', attacker, body, body.make()))
  }
  const kept: [operation: string, body: string, ms: number][] = []
  for (const operation of operationIds) {
    const { body, form } = operationOf(operation)
    if (body === undefined && form === undefined) continue
    for (const one of bodiesOf(operation)) {
      const answered = send(operation, attacker, one, one.make())
      kept.push([operation, one.name, await readWhile(reader, answered)])
      expect([operation, one.name, await answered]).not.toEqual([operation, one.name, 500])
    }
  }
  // Bodies that are checked on the event loop, or without a bound on their values, took 1 to 13 s.
  const mostMs = 3 * leastMs()
  expect([mostMs, kept.filter(([, , ms]) => ms > mostMs)]).toEqual([mostMs, []])
})

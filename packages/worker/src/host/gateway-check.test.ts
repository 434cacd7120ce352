import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { GatewayCheck } from './gateway-check.ts'

const waitFor = (check: () => void) => vi.waitFor(check, { timeout: 20_000, interval: 5 })

/** Listens at a loopback origin; the test may replace the answer. */
async function listen(answer: RequestListener) {
  const place = { answer, requests: 0 }
  const server = createServer((request, response) => {
    place.requests += 1
    place.answer(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  onTestFinished(close)
  return { place, close, url: `http://127.0.0.1:${port}` }
}

const answering =
  (status: number, body: object): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
const gateway = answering(401, { error: { message: 'no', code: 'invalid_or_expired_credential' } })
const api = answering(401, { error: 'invalid_or_expired_credential' })

async function check(url: string) {
  const lines: { level: number; msg: string }[] = []
  const log = pino({ level: 'info' }, { write: line => lines.push(JSON.parse(line)) })
  // bound: a pause between two looks
  const checking = new GatewayCheck({ url: () => url, log, pauseMs: 1 })
  onTestFinished(() => checking[Symbol.asyncDispose]())
  await checking.start()
  return { checking, logged: () => lines.map(({ level, msg }) => `${pino().levels.labels[level]} ${msg.slice(0, 20)}`) }
}

test('probes a gateway once, and logs nothing', async () => {
  const { place, url } = await listen(gateway)
  const { checking, logged } = await check(url)
  await waitFor(() => expect(place.requests).toBe(1))
  await checking[Symbol.asyncDispose]()
  await checking.check()
  expect([place.requests, logged()]).toEqual([1, []])
})

test.each([
  ['an API without the role', api],
  ['another service', answering(200, { data: [] })],
  ['a redirection', ((_, response) => response.writeHead(302, { location: '/' }).end()) as RequestListener],
])('reports %s as an error at once, until a gateway answers', async (_, other) => {
  const { place, url } = await listen(other)
  const { checking, logged } = await check(url)
  await waitFor(() => expect(logged()).toEqual(['error BERTH_GATEWAY_URL (e']))
  await expect(checking.check()).rejects.toThrow(`the server at ${url} is no gateway`)
  place.answer = gateway
  await waitFor(() => expect(logged()).toEqual(['error BERTH_GATEWAY_URL (e', 'info the gateway answers ']))
  await checking.check()
})

test('stays ready while the gateway does not answer yet, and warns once', async () => {
  const { place, url } = await listen(answering(503, { error: 'service_unavailable' }))
  const { checking, logged } = await check(url)
  await waitFor(() => expect(logged()).toEqual(['warn the gateway does not']))
  await checking.check()
  const before = place.requests
  await waitFor(() => expect(place.requests).toBeGreaterThan(before))
  expect(logged()).toHaveLength(1)
  place.answer = gateway
  await waitFor(() => expect(logged()).toHaveLength(2))
})

test('stays ready while nobody listens on the port', async () => {
  const { url, close } = await listen(gateway)
  await close()
  const { checking, logged } = await check(url)
  await waitFor(() => expect(logged()).toEqual(['warn the gateway does not']))
  await checking.check()
})

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type GatewayProcess, startGatewayProcess } from '@berth/testing/services/gateway-process.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

const mebibyte = 1024 ** 2

let service: GatewayProcess
beforeAll(async () => {
  service = await startGatewayProcess({ bodyPatienceMs: 300_000 })
})
afterAll(() => service[Symbol.asyncDispose]())

/** A request whose body lacks its last byte. */
interface Withheld extends Disposable {
  /** The answer so far. */
  readonly answer: string
  /** Sends the missing byte. */
  finish(): void
}

const chunk = Buffer.alloc(mebibyte, 'a')

/** Sends all of a body but its last byte. The connection stays open until disposal. */
async function withhold(path: string, key: string, bytes: number): Promise<Withheld> {
  const open = '{"model":"openai/m","messages":[{"role":"user","content":"'
  const end = '"}]}'
  const socket = connect(service.port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8').on('data', (data: string) => {
    answer += data
  })
  socket.on('error', () => {})
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${bytes}`,
  ]
  await send(socket, `${head.join('\r\n')}\r\n\r\n${open}`)
  let left = bytes - open.length - end.length
  for (; left > 0 && answer === ''; left -= chunk.length)
    await send(socket, chunk.subarray(0, Math.min(left, chunk.length)))
  if (answer === '') await send(socket, end.slice(0, -1))
  return {
    get answer() {
      return answer
    },
    finish: () => socket.write(end.slice(-1)),
    [Symbol.dispose]: () => socket.destroy(),
  }
}

async function send(socket: Socket, data: string | Buffer): Promise<void> {
  if (socket.write(data)) return
  using left = new DisposableStack()
  const closed = new AbortController()
  const close = () => closed.abort()
  socket.once('close', close)
  left.defer(() => socket.off('close', close))
  await once(socket, 'drain', { signal: closed.signal }).catch(() => {})
}

const statusOf = ({ answer }: Withheld) => Number(answer.split(' ')[1])
const small = { model: 'openai/m', messages: [{ role: 'user', content: 'hello' }] }
const ask = (key: string) =>
  fetch(`${service.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(small),
  })

test('unfinished bodies take a bounded amount of memory, and other requests are served meanwhile', async () => {
  const before = service.residentBytes()
  using stack = new DisposableStack()
  const callers = await Promise.all(Array.from({ length: 6 }, () => service.newCaller()))
  const held: Withheld[] = []
  for (let round = 0; round < 5; round += 1) {
    for (const { aiKey } of callers) held.push(stack.use(await withhold('/v1/chat/completions', aiKey, 30 * mebibyte)))
  }
  // The test has sent 900 MiB; the service refused the part beyond the budget while the connections stand.
  const refused = () => held.filter(({ answer }) => answer !== '')
  await until('the refusals', () => refused().length >= 30 - 8)
  for (const one of refused()) {
    expect(one.answer).toMatch(/^HTTP\/1.1 503 .*retry-after: 2\r\n.*"code":"service_unavailable"/is)
  }
  // The sum includes small buffers beside the bodies; without the budget it exceeds 900 MiB.
  expect(service.residentBytes() - before).toBeLessThan(600 * mebibyte)
  const honest = await service.newCaller()
  expect((await ask(honest.aiKey)).status).toBe(200)
})

test('one caller may send a bounded number of large bodies at once, and each that ends makes room', async () => {
  using stack = new DisposableStack()
  const { aiKey } = await service.newCaller()
  const begin = async () => stack.use(await withhold('/v1/chat/completions', aiKey, 100_000))
  const held: Withheld[] = []
  for (let count = 0; count < 20; count += 1) held.push(await begin())
  await until('the refusals', () => held.filter(({ answer }) => answer !== '').length === 4)
  for (const one of held.filter(({ answer }) => answer !== '')) expect(statusOf(one)).toBe(503)
  // A small body does not count: it usually arrives in one piece.
  expect((await ask(aiKey)).status).toBe(200)
  const [finished, left] = held.filter(({ answer }) => answer === '')
  finished?.finish()
  await until('the answer', () => finished?.answer.startsWith('HTTP/1.1 200') === true)
  left?.[Symbol.dispose]()
  // Both places are free again once the service has noticed that the second client left.
  for (let free = 0; free < 2; ) {
    const next = await begin()
    next.finish()
    await until('an answer', () => next.answer !== '')
    if (statusOf(next) === 200) free += 1
  }
})

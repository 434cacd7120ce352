import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openNetwork } from './dial.ts'

const records: Readonly<Record<string, readonly number[][]>> = {
  'two.example.com 1': [
    [93, 184, 216, 34],
    [93, 184, 216, 35],
  ],
  'two.example.com 28': [[0x26, 0x06, 0x47, 0, ...Array<number>(11).fill(0), 1]],
  'four.example.com 1': [[1, 1, 1, 1]],
}

/** A DNS server on loopback. Unknown names do not exist, and it does not answer for `silent` names. */
const server = createSocket('udp4')
const lookups: string[] = []

server.on('message', (query, { port }) => {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  const type = query.readUInt16BE(at + 1)
  const name = labels.join('.')
  lookups.push(name)
  if (name.startsWith('silent')) return
  const answers = records[`${name} ${type}`] ?? []
  const known = Object.keys(records).some(key => key.startsWith(`${name} `))
  const head = Buffer.from([0x81, known ? 0x80 : 0x83, 0, 1, 0, answers.length, 0, 0, 0, 0])
  const sections = answers.map(data => Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length, ...data]))
  server.send(Buffer.concat([query.subarray(0, 2), head, query.subarray(12, at + 5), ...sections]), port, '127.0.0.1')
})

beforeAll(async () => {
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => server.close())

const resolve = (name: string, signal = AbortSignal.timeout(20_000)) =>
  openNetwork([`127.0.0.1:${server.address().port}`]).resolve(name, signal)

test('resolve returns every IPv4 and IPv6 address of a name in DNS', async () => {
  expect(await resolve('two.example.com')).toEqual(['93.184.216.34', '93.184.216.35', '2606:4700::1'])
  expect(await resolve('four.example.com')).toEqual(['1.1.1.1'])
  await expect(resolve('none.example.com')).rejects.toThrow(/ENOTFOUND/)
  expect(new Set(lookups)).toEqual(new Set(['two.example.com', 'four.example.com', 'none.example.com']))
})

test('resolve ends when its signal aborts', async () => {
  const leaving = new AbortController()
  const answer = resolve('silent.example.com', leaving.signal)
  leaving.abort(new Error('the client left'))
  await expect(answer).rejects.toThrow('the client left')
})

import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { FirstOrder, OrderRefused } from './first-order.ts'

/** Sends pieces through, and returns all that came out. */
async function passed(...pieces: readonly string[]): Promise<string> {
  const order = new FirstOrder()
  const out = buffer(order)
  for (const piece of pieces) order.write(piece)
  order.end()
  return (await out).toString()
}

test.each([
  ['a terminal', ['{"terminal":{"id":"a","attach":{"columns":80,"rows":24}}}\n']],
  ['a port and what follows', ['{"port":{"dial":80}}\n', 'GET / HTTP/1.1\r\n', '{"hello":{"fence":9,"from":0}}\n']],
  ['an order in pieces', ['{"po', 'rt":{"list":tr', 'ue}}', '\n']],
  ['a connection that asks nothing', []],
])('%s passes as it is', async (_, pieces) => {
  expect(await passed(...pieces)).toBe(pieces.join(''))
})

test.each([
  ['a worker', '{"hello":{"fence":99,"from":0}}\n'],
  ['a stop of everything', '{"all":"STOP"}\n'],
  ['the end of an agent', '{"retire":{"fence":99,"graceMs":0}}\n'],
  ['a sandbox to be made ready', '{"prepare":{}}\n'],
  ['a worker behind a terminal', '{"terminal":{"id":"a","end":true},"hello":{"fence":99,"from":0}}\n'],
  ['the start of a shell', '{"terminal":{"id":"a","start":{"env":{},"cwd":"/","columns":80,"rows":24}}}\n'],
  ['an empty line before it', '\n{"port":{"list":true}}\n'],
  ['no JSON', 'port\n'],
  ['a list', '["port"]\n'],
  ['a line without an end', '{"port":{"list":true}}'],
  ['a line that is too long', `{"port":{"list":true${' '.repeat(4096)}}}\n`],
  ['a line that never ends', ' '.repeat(4097)],
])('%s does not', async (_, sent) => {
  await expect(passed(sent)).rejects.toBeInstanceOf(OrderRefused)
})

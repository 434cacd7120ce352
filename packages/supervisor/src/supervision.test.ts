import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { processEnd } from '../test/support/process-end.ts'
import { runSupervisor } from '../test/support/run-supervisor.ts'
import { MAX_MESSAGE_BYTES } from './protocol.ts'

const hello = '{"hello":{"fence":1,"from":0}}\n'
const start = (script: string) =>
  `${JSON.stringify({ start: { key: 's', command: ['bash', '--norc', '-c', script], env: { PATH: process.env.PATH }, cwd: '/' } })}\n`

/** Reads until the text so far matches, and returns it. */
async function readUntil(socket: Socket, pattern: RegExp): Promise<string> {
  let seen = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    seen += chunk.toString('latin1')
    if (pattern.test(seen)) return seen
  }
  return seen
}

describe('a worker that breaks the protocol', () => {
  test.each([
    ['speaks before its hello', '{"ack":0}\n'],
    ['says hello twice', hello + hello],
    ['sends invalid JSON', `${hello}start\n`],
    ['sends an unknown message', `${hello}{"restart":{}}\n`],
    ['sends a line with a newline', `${hello}${JSON.stringify({ in: { key: 'k', line: 'a\no forged' } })}\n`],
    ['sends a key with a space', `${hello}${JSON.stringify({ in: { key: 'k x', line: '' } })}\n`],
    // bound: the frame is refused
    ['sends a key with a newline', `${hello}${JSON.stringify({ stop: { key: 'k\no', graceMs: 1 } })}\n`],
    ['sends a negative offset', `${hello}{"ack":-1}\n`],
    ['sends a start without a command', `${hello}{"start":{"key":"k","command":[],"env":{},"cwd":"/"}}\n`],
    ['sends an endless line', `${hello}${'x'.repeat(MAX_MESSAGE_BYTES + 1)}\n`],
  ])('loses its connection if it %s, and journal and agent are unaffected', async (_, bytes) => {
    await using supervisor = await runSupervisor()
    const socket = await supervisor.connect()
    socket.on('error', () => {})
    socket.resume().write(bytes)
    await once(socket, 'close')
    expect(readFileSync(supervisor.journalPath, 'latin1')).toBe('')
    const next = await supervisor.connect()
    next.write(hello + start('true'))
    expect(await readUntil(next, /^x /m)).toMatch(/^\{"welcome":.*\ns s .*\nx .*\n$/)
    next.destroy()
  })
})

describe('pings', () => {
  test('are answered between records and do not count towards offsets', async () => {
    await using supervisor = await runSupervisor()
    const socket = await supervisor.connect()
    socket.write(hello + start(`yes "$(head -c 300000 /dev/zero | tr '\\0' y)" | head -n 30`))
    for (let n = 1; n <= 200; n += 1) socket.write(`{"ping":${n}}\n`)
    const seen = await readUntil(socket, /^x .*\n(.*\n)*p 200\n|^p 200\n(.*\n)*x .*\n/m)
    const lines = seen.split('\n').slice(1, -1)
    expect(lines.filter(line => line.startsWith('p '))).toEqual(Array.from({ length: 200 }, (_, i) => `p ${i + 1}`))
    const records = lines.filter(line => !line.startsWith('p '))
    expect(`${records.join('\n')}\n`).toBe(readFileSync(supervisor.journalPath, 'latin1'))
    socket.destroy()
  })
})

describe('a worker that does not read', () => {
  test('costs no memory, and another worker reads everything', async () => {
    await using supervisor = await runSupervisor()
    const stuck = await supervisor.connect()
    stuck.on('error', () => {})
    stuck.pause().write(hello + start('yes 0123456789abcdef0123456789abcdef | head -n 1500000'))
    const reader = await supervisor.connect()
    // The first worker reads nothing, so only the journal's growth shows that its messages have arrived.
    while (statSync(supervisor.journalPath).size < 1_000_000) await new Promise(setImmediate)
    reader.write('{"hello":{"fence":2,"from":0}}\n')
    let lines = 0
    let acknowledged = 0
    let tail = ''
    let read = 0
    for await (const chunk of reader) {
      const bytes: Buffer = chunk
      read += bytes.length
      for (const byte of bytes) if (byte === 0x0a) lines += 1
      tail = (tail + bytes.subarray(-100).toString()).slice(-100)
      if (/\nx [^\n]*\n$/.test(tail)) break
      if (read - acknowledged > 1_000_000) {
        // The bytes read include the greeting, which is not part of the journal.
        acknowledged = read
        reader.write(`{"ack":${read - 1000}}\n`)
      }
    }
    expect(lines).toBe(1_500_000 + 3)
    const resident = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${supervisor.pid}/status`, 'utf8'))?.[1]
    expect(Number(resident)).toBeLessThan(200_000)
  })
})

test('killing an agent also kills its processes in other sessions', async () => {
  await using supervisor = await runSupervisor()
  const socket = await supervisor.connect()
  socket.write(
    hello + start(`trap '' TERM; setsid bash -c 'trap "" TERM; echo $$; while :; do sleep 1; done' & wait; wait`),
  )
  const pid = Number(/^o \d+ (\d+)$/m.exec(await readUntil(socket, /^o \d+ \d+\n/m))?.[1])
  socket.write('{"stop":{"key":"k","graceMs":1}}\n')
  await readUntil(socket, /^x /m)
  await processEnd(pid)
  socket.destroy()
})

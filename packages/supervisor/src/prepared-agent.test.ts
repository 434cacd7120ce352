import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { processEnd } from '../test/support/process-end.ts'
import { type RunningSupervisor, runSupervisor } from '../test/support/run-supervisor.ts'

const env = { PATH: process.env['PATH'] ?? '' }
/** Answers each line with it and its own pid. */
const command = ['bash', '--norc', '-c', 'while read -r line; do echo "$line $$"; done']
const hello = '{"hello":{"fence":1,"from":0}}\n'
const line = (message: object) => `${JSON.stringify(message)}\n`
const first = (text: string) => line({ in: { key: 'first', line: text } })
const start = (changes: object = {}) => line({ start: { key: 's', command, env, cwd: '/', ...changes } })

async function readUntil(socket: Socket, pattern: RegExp): Promise<string> {
  let seen = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    seen += chunk.toString('latin1')
    if (pattern.test(seen)) return seen
  }
  return seen
}

async function prepare(supervisor: RunningSupervisor): Promise<Socket> {
  const socket = await supervisor.connect()
  socket.write(line({ prepare: { command, env, cwd: '/', line: 'begin', rehearsal: 'rehearse' } }))
  expect(await readUntil(socket, /\n/)).toBe('{"prepared":true}\n')
  return socket
}

async function bind(socket: Socket): Promise<void> {
  socket.write('bind\n')
  expect(await readUntil(socket, /\n/)).toBe('{"bound":true}\n')
}

test('a prepared process becomes the agent, and the journal tells of it as of any other', async () => {
  await using supervisor = await runSupervisor()
  const socket = await prepare(supervisor)
  expect(readFileSync(supervisor.journalPath, 'latin1')).toBe('')
  await bind(socket)
  const worker = await supervisor.connect()
  worker.write(hello + start({ cwd: '/tmp' }))
  const pid = /"pid":(\d+)/.exec(await readUntil(worker, /^s .*\n/m))?.[1]
  worker.write(first('begin') + line({ in: { key: 'second', line: 'more' } }))
  const records = (await readUntil(worker, /more \d+\n/)).replaceAll(/^o \d+/gm, 'o').split('\n')
  expect(records.filter(record => record.startsWith('o'))).toEqual([`o begin ${pid}`, `o more ${pid}`])
  expect(records.indexOf('i first begin')).toBeLessThan(records.indexOf(`o begin ${pid}`))
  worker.destroy()
})

test('another first line is given, and what the process said before is nobody’s answer', async () => {
  await using supervisor = await runSupervisor()
  await bind(await prepare(supervisor))
  const worker = await supervisor.connect()
  worker.write(hello + start() + first('other'))
  expect(await readUntil(worker, /^o .*\n/m)).toMatch(/^i first other\no \d+ other \d+$/m)
  expect(readFileSync(supervisor.journalPath, 'latin1')).not.toContain('begin')
  worker.destroy()
})

test('an order for another environment ends the prepared process and starts its own', async () => {
  await using supervisor = await runSupervisor()
  await bind(await prepare(supervisor))
  const worker = await supervisor.connect()
  worker.write(hello + start({ command: ['bash', '-c', 'echo $SECRET'], env: { ...env, SECRET: 'known' } }))
  expect(await readUntil(worker, /^x /m)).toMatch(/^o \d+ known$/m)
  worker.destroy()
})

test('a sandbox that nobody has bound ends with the connection that prepared it', async () => {
  await using supervisor = await runSupervisor()
  const socket = await prepare(supervisor)
  socket.destroy()
  await processEnd(supervisor.pid)
})

test('a prepared process that ends takes its sandbox along', async () => {
  await using supervisor = await runSupervisor()
  const socket = await supervisor.connect()
  socket.resume().write(line({ prepare: { command: ['false'], env, cwd: '/', line: 'begin' } }))
  await once(socket, 'close')
  await processEnd(supervisor.pid)
})

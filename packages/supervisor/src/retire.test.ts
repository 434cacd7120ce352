import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { type RunningSupervisor, runSupervisor } from '../test/support/run-supervisor.ts'

const env = { PATH: process.env['PATH'] ?? '' }
const line = (message: object) => `${JSON.stringify(message)}\n`

async function readUntil(socket: Socket, pattern: RegExp): Promise<string> {
  let seen = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    seen += chunk.toString('latin1')
    if (pattern.test(seen)) return seen
  }
  return seen
}

/** Starts an agent by a worker with token 2, and waits until it has said that it is ready. */
async function startAgent(supervisor: RunningSupervisor, script: string): Promise<Socket> {
  const worker = await supervisor.connect()
  const command = ['bash', '--norc', '-c', `${script}; echo ready; while read -r line; do echo "$line"; done`]
  worker.write(line({ hello: { fence: 2, from: 0 } }) + line({ start: { key: 's', command, env, cwd: '/' } }))
  await readUntil(worker, /^o \d+ ready$/m)
  return worker
}

async function retire(supervisor: RunningSupervisor, fence: number, graceMs = 10_000): Promise<string> {
  const socket = await supervisor.connect()
  socket.write(line({ retire: { fence, graceMs } }))
  return text(socket)
}

test('an agent without others ends, and another order finds none', async () => {
  await using supervisor = await runSupervisor()
  const worker = await startAgent(supervisor, ':')
  expect(await retire(supervisor, 2)).toBe('{"retired":"ended"}\n')
  expect(readFileSync(supervisor.journalPath, 'latin1')).toMatch(/^x .*"signal":"SIGTERM"/m)
  expect(await retire(supervisor, 2)).toBe('{"retired":"ended"}\n')
  worker.destroy()
})

test('an agent that refuses to end is killed', async () => {
  await using supervisor = await runSupervisor()
  const worker = await startAgent(supervisor, "trap '' TERM")
  expect(await retire(supervisor, 2, 50)).toBe('{"retired":"ended"}\n')
  expect(readFileSync(supervisor.journalPath, 'latin1')).toMatch(/^x .*"signal":"SIGKILL"/m)
  worker.destroy()
})

test('what is given while an agent ends follows its end, and reaches the next process alone', async () => {
  await using supervisor = await runSupervisor()
  const worker = await startAgent(supervisor, "trap 'echo ending; read -r -t 1 line; exit' TERM")
  const ended = retire(supervisor, 2)
  await readUntil(worker, /^o \d+ ending$/m)
  worker.write(line({ in: { key: 'prompt', line: 'work' } }))
  const records = await readUntil(worker, /^i prompt work$/m)
  expect(records).toMatch(/^x .*\ni prompt work$/m)
  expect(records).not.toMatch(/^o \d+ work$/m)
  expect(await ended).toBe('{"retired":"ended"}\n')
  worker.destroy()
})

test('an older token ends nothing, and neither does one of an agent with processes of its own', async () => {
  await using supervisor = await runSupervisor()
  // It speaks once it has left the agent's group, in which it begins.
  const worker = await startAgent(supervisor, "read -r _ < <(setsid bash -c 'echo moved; exec sleep 600 >&-')")
  expect(await retire(supervisor, 1)).toBe('{"retired":"refused"}\n')
  expect(await retire(supervisor, 2)).toBe('{"retired":"kept"}\n')
  worker.write(line({ in: { key: 'prompt', line: 'work' } }))
  expect(await readUntil(worker, /^o \d+ work$/m)).not.toMatch(/^x /m)
  worker.destroy()
})

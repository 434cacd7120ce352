import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type RunningSupervisor, runSupervisor } from '../../test/support/run-supervisor.ts'
import { frameHeader } from '../tree/frames.ts'
import { MAX_TERMINALS, SCROLLBACK_BYTES, type TerminalOrder, terminalFrames } from './protocol.ts'

const env = { PATH: process.env.PATH ?? '', HOME: '/nowhere', TERM: 'xterm-256color', PS1: '$ ', SHELL: '/bin/bash' }
const size = { columns: 80, rows: 24 }
const start: Extract<TerminalOrder, { start: unknown }>['start'] = { env, cwd: '/', ...size }

/** Sends an order and reads the answer's line. */
async function order(
  supervisor: RunningSupervisor,
  sent: TerminalOrder,
): Promise<{ answer: unknown; socket: Socket; rest: Buffer }> {
  const socket = await supervisor.connect()
  socket.on('error', () => {})
  socket.write(`${JSON.stringify({ terminal: sent })}\n`)
  let seen = Buffer.alloc(0)
  while (!seen.includes(10)) {
    const chunk: Buffer | null = socket.read()
    if (chunk !== null) seen = Buffer.concat([seen, chunk])
    else if (socket.readableEnded) break
    else await once(socket, 'readable')
  }
  const end = seen.indexOf(10)
  return { answer: JSON.parse(seen.subarray(0, end).toString()), socket, rest: seen.subarray(end + 1) }
}

/** A connection to a terminal, as somebody in front of it sees it. */
class Viewer {
  readonly socket: Socket
  output = ''
  exit: unknown
  #bytes: Buffer
  #wake: () => void = () => {}

  constructor({ socket, rest }: { socket: Socket; rest: Buffer }) {
    this.socket = socket
    this.#bytes = rest
    socket.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk])
      this.#cut()
      this.#wake()
    })
    socket.on('close', () => this.#wake())
    this.#cut()
  }

  #cut(): void {
    while (this.#bytes.length >= 5) {
      const length = this.#bytes.readUInt32LE(1)
      if (this.#bytes.length < 5 + length) return
      const payload = this.#bytes.subarray(5, 5 + length).toString('latin1')
      if (this.#bytes[0] === terminalFrames.output) this.output += payload
      else this.exit = JSON.parse(payload)
      this.#bytes = this.#bytes.subarray(5 + length)
    }
  }

  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.output) && !this.socket.closed) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    expect(this.output).toMatch(pattern)
  }

  send(type: number, payload: string): void {
    this.socket.write(Buffer.concat([frameHeader(type, Buffer.byteLength(payload)), Buffer.from(payload)]))
  }

  type(text: string): void {
    this.send(terminalFrames.input, text)
  }
}

async function attach(supervisor: RunningSupervisor, id: string, at = size): Promise<Viewer> {
  const opened = await order(supervisor, { id, attach: at })
  expect(opened.answer).toMatchObject({ terminal: 'attached' })
  return new Viewer(opened)
}

test('a terminal is one, runs what is typed, and takes its size from who looks at it', async () => {
  await using supervisor = await runSupervisor()
  expect((await order(supervisor, { id: 'a', start })).answer).toEqual({ terminal: 'started' })
  expect((await order(supervisor, { id: 'a', start })).answer).toEqual({ terminal: 'started' })
  const viewer = await attach(supervisor, 'a', { columns: 101, rows: 31 })
  viewer.type('tty; stty size; test -t 0 && echo is-"a"-terminal\r')
  await viewer.until(/\/dev\/pts\/\d+[\s\S]*31 101[\s\S]*is-a-terminal/)
  viewer.send(terminalFrames.resize, JSON.stringify({ columns: 55, rows: 12 }))
  viewer.type('stty size\r')
  await viewer.until(/12 55/)
  // The program in front says so itself: before it is there, an interrupt would reach the shell alone.
  viewer.type(`bash -c 'echo sle"eps"; exec sleep 1000'\r`)
  await viewer.until(/sleeps/)
  viewer.type('\x03')
  await viewer.until(/\^C/)
  viewer.type('exit 3\r')
  await once(viewer.socket, 'close')
  expect(viewer.exit).toEqual({ code: 3, signal: null })
})

test('a terminal goes on without its connection, and the next one sees its last output', async () => {
  await using supervisor = await runSupervisor()
  await order(supervisor, { id: 'a', start })
  const first = await attach(supervisor, 'a')
  first.type('for i in $(seq 60000); do echo line-$i; done; echo all-"done"\r')
  await first.until(/line-10\b/)
  first.socket.destroy()
  let seen = ''
  while (!/all-done/.test(seen)) {
    const later = await attach(supervisor, 'a')
    await later.until(/line-/)
    later.socket.destroy()
    seen = later.output
  }
  const again = await order(supervisor, { id: 'a', attach: size })
  const { scrollback } = again.answer as { scrollback: number }
  expect(scrollback).toBeGreaterThan(SCROLLBACK_BYTES / 2)
  expect(scrollback).toBeLessThanOrEqual(SCROLLBACK_BYTES + 16)
  const viewer = new Viewer(again)
  await viewer.until(/all-done/)
  expect(viewer.output).toMatch(/line-59999\r\nline-60000\r\n/)
  expect(viewer.output.slice(0, 20)).toMatch(/^.\[0mline-\d+\r\n/)
})

test('a shell that ended while nobody was connected still tells its last output and its exit', async () => {
  await using supervisor = await runSupervisor()
  await order(supervisor, { id: 'a', start })
  const first = await attach(supervisor, 'a')
  const directory = await mkdtemp(join(tmpdir(), 'berth-terminal-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const go = join(directory, 'go')
  execFileSync('mkfifo', [go])
  first.type(`echo pid-$$-; cat ${go}; exit 5\r`)
  await first.until(/pid-\d+-/)
  const pid = Number(/pid-(\d+)-/.exec(first.output)?.[1])
  first.socket.destroy()
  await writeFile(go, 'last-words\n')
  while (isAlive(pid)) await new Promise(setImmediate)
  for (let n = 0; n < 2; n += 1) {
    const later = await attach(supervisor, 'a')
    await once(later.socket, 'close')
    expect(later.output).toMatch(/last-words/)
    expect(later.exit).toEqual({ code: 5, signal: null })
  }
  expect((await order(supervisor, { id: 'a', start })).answer).toEqual({ terminal: 'started' })
  expect((await order(supervisor, { id: 'a', end: true })).answer).toEqual({ terminal: 'unknown' })
  expect((await order(supervisor, { id: 'a', attach: size })).answer).toEqual({ terminal: 'unknown' })
})

test('the exit is told to somebody who still types', async () => {
  await using supervisor = await runSupervisor()
  await Promise.all(
    Array.from({ length: 8 }, async (_, n) => {
      await order(supervisor, { id: `t${n}`, start })
      const viewer = await attach(supervisor, `t${n}`)
      viewer.type('exit 6\r')
      while (!viewer.socket.closed) {
        if (viewer.socket.writable) viewer.type('\x04')
        await new Promise(setImmediate)
      }
      expect(viewer.exit).toEqual({ code: 6, signal: null })
    }),
  )
})

test('a reader that is slow holds the program back and costs no memory', async () => {
  await using supervisor = await runSupervisor()
  await order(supervisor, { id: 'a', start })
  const slow = await order(supervisor, { id: 'a', attach: size })
  const command = `head -c 10000000 /dev/zero | tr '\\0' x; echo all-"done"\r`
  slow.socket.write(Buffer.concat([frameHeader(terminalFrames.input, command.length), Buffer.from(command)]))
  const viewer = new Viewer(slow)
  await viewer.until(/xxxx/)
  viewer.socket.pause()
  const before = await memoryOf(supervisor.pid)
  await stalls(supervisor.pid)
  expect((await memoryOf(supervisor.pid)) - before).toBeLessThan(8 * 1024)
  viewer.socket.resume()
  await viewer.until(/all-done/)
  expect(viewer.output.match(/x/g)?.length).toBeGreaterThanOrEqual(10_000_000)
})

test('the later connection has the terminal; the earlier is closed', async () => {
  await using supervisor = await runSupervisor()
  await order(supervisor, { id: 'a', start })
  const first = await attach(supervisor, 'a')
  const closed = once(first.socket, 'close')
  const second = await attach(supervisor, 'a')
  await closed
  second.type('echo sec"ond"\r')
  await second.until(/second/)
})

test('an end takes the shell with everything on its terminal', async () => {
  await using supervisor = await runSupervisor()
  await order(supervisor, { id: 'a', start })
  const viewer = await attach(supervisor, 'a')
  viewer.type('trap "" HUP; sleep 1000 & echo pid-"$!"-\r')
  await viewer.until(/pid-\d+-/)
  const pid = Number(/pid-(\d+)-/.exec(viewer.output)?.[1])
  expect((await order(supervisor, { id: 'a', end: true })).answer).toEqual({ terminal: 'ended' })
  await once(viewer.socket, 'close')
  while (isAlive(pid)) await new Promise(setImmediate)
  expect((await order(supervisor, { id: 'a', end: true })).answer).toEqual({ terminal: 'unknown' })
  expect((await order(supervisor, { id: 'a', start })).answer).toEqual({ terminal: 'unknown' })
  // The order to start may come behind the order to end.
  expect((await order(supervisor, { id: 'b', end: true })).answer).toEqual({ terminal: 'unknown' })
  expect((await order(supervisor, { id: 'b', start })).answer).toEqual({ terminal: 'unknown' })
})

test('a command runs in place of a shell, can be read at any time, and ends with its daemons', async () => {
  await using supervisor = await runSupervisor()
  const command = `echo "it's $1 up"; setsid sleep 1000 & echo pid-$!-; read line; exit 4`
  expect((await order(supervisor, { id: 'a', read: true })).answer).toEqual({ terminal: 'unknown' })
  await order(supervisor, { id: 'a', start: { ...start, command } })
  const viewer = await attach(supervisor, 'a')
  await viewer.until(/it's {2}up\r\npid-\d+-/)
  const pid = Number(/pid-(\d+)-/.exec(viewer.output)?.[1])
  const output = expect.stringContaining("it's  up")
  expect((await order(supervisor, { id: 'a', read: true })).answer).toEqual({ terminal: 'output', output, exit: null })
  viewer.type('go\r')
  await once(viewer.socket, 'close')
  const exit = { code: 4, signal: null }
  expect((await order(supervisor, { id: 'a', read: true })).answer).toMatchObject({ terminal: 'output', exit })
  expect(isAlive(pid)).toBe(true)
  await order(supervisor, { id: 'a', end: true })
  while (isAlive(pid)) await new Promise(setImmediate)
})

test('a sandbox has so many terminals and no more, and says if it cannot make one', async () => {
  await using supervisor = await runSupervisor()
  for (let n = 0; n < MAX_TERMINALS; n += 1) await order(supervisor, { id: `t${n}`, start })
  expect((await order(supervisor, { id: 'more', start })).answer).toEqual({ terminal: 'too_many' })
  const gone = await attach(supervisor, 't0')
  await order(supervisor, { id: 't0', end: true })
  await once(gone.socket, 'close')
  const bare = { ...start, env: { ...env, PATH: '/nowhere' } }
  expect((await order(supervisor, { id: 'bare', start: bare })).answer).toEqual({ terminal: 'no_program' })
})

test('a shell that could not be started has no exit', async () => {
  await using supervisor = await runSupervisor()
  const lost = { ...start, cwd: '/nowhere' }
  expect((await order(supervisor, { id: 'a', start: lost })).answer).toEqual({ terminal: 'started' })
  expect((await order(supervisor, { id: 'a', attach: size })).answer).toEqual({ terminal: 'unknown' })
})

test.each([
  ['a name that is none', { id: 'a b', end: true }],
  ['a size of nothing', { id: 'a', attach: { columns: 0, rows: 1 } }],
  ['a size beyond all screens', { id: 'a', attach: { columns: 80, rows: 10_000 } }],
  ['a command that is none', { id: 'a', start: { ...start, command: ['ls'] } }],
  ['no order', { id: 'a' }],
])('%s closes the connection', async (_, sent) => {
  await using supervisor = await runSupervisor()
  const socket = await supervisor.connect()
  socket.resume().write(`${JSON.stringify({ terminal: sent })}\n`)
  await once(socket, 'close')
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Resident memory in KiB. */
async function memoryOf(pid: number): Promise<number> {
  return Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** Waits until a process has read nothing for a while of its own making: its count of read bytes stands still. */
async function stalls(pid: number): Promise<void> {
  const read = async () => /^rchar: (\d+)/m.exec(await readFile(`/proc/${pid}/io`, 'utf8'))?.[1]
  for (let same = 0, last = await read(); same < 2000; ) {
    await new Promise(setImmediate)
    const next = await read()
    same = next === last ? same + 1 : 0
    last = next
  }
}

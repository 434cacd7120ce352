import { readFileSync, statSync } from 'node:fs'
import { Duplex, PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { MAX_LINE_BYTES, MAX_UNACKNOWLEDGED_BYTES } from '@berth/supervisor'
import { processEnd } from '@berth/supervisor/testing/process-end'
import { type RunningSupervisor, runSupervisor } from '@berth/supervisor/testing/run-supervisor'
import { describe, expect, test } from 'vitest'
import { SupervisorConnection } from './connection.ts'
import { ConnectionClosedError, FenceLostError, SandboxFrozenError, SupervisorProtocolError } from './errors.ts'
import type { JournalRecord } from './stream.ts'

const AGENT = fileURLToPath(new URL('../../../testing/src/agents/scripted-agent.ts', import.meta.url))
const environment = { PATH: process.env.PATH ?? '' }
/** Its socket takes connections before the supervisor's process has begun, which takes seconds on a busy machine. */
const helloDeadlineMs = 120_000

async function attach(supervisor: RunningSupervisor, fence = 1, from = 0): Promise<SupervisorConnection> {
  return SupervisorConnection.open(await supervisor.connect(), { fence, from, helloDeadlineMs })
}

function bash(key: string, script: string): Parameters<SupervisorConnection['start']>[0] {
  return { key, command: ['bash', '--norc', '-c', script], env: environment, cwd: '/' }
}

function text(record: JournalRecord): string {
  return `${record.type} ${record.key === undefined ? '' : `${record.key} `}${record.payload.toString()}`
}

async function* recordsOf(connection: SupervisorConnection): AsyncGenerator<JournalRecord> {
  for await (const batch of connection.batches()) yield* batch
}

/** Reads up to and including the first record that `last` accepts. */
async function readUntil(
  connection: SupervisorConnection,
  last: (record: JournalRecord) => boolean,
): Promise<JournalRecord[]> {
  const records: JournalRecord[] = []
  for await (const record of recordsOf(connection)) {
    records.push(record)
    if (last(record)) break
  }
  return records
}

const isExit = (record: JournalRecord) => record.type === 'x'

describe('an agent that outlives its workers', () => {
  const orders = [
    { key: 'initialize', line: request(0, 'initialize', { protocolVersion: 1, clientCapabilities: {} }) },
    { key: 'session', line: request(1, 'session/new', { cwd: '/', mcpServers: [] }) },
    { key: 'prompt', line: prompt(2, 'count 10000') },
  ]

  test('delivers each of 10 000 updates once and in order over 100 lost connections', { timeout: 60_000 }, async () => {
    await using supervisor = await runSupervisor()
    let committed = 0
    let repeatedBytes = 0
    const updates: string[] = []
    const answers = new Map<number, number>()

    for (let fence = 1, finished = false; !finished; fence += 1) {
      await using worker = await attach(supervisor, fence, committed)
      await worker.start({ key: 'start', command: [process.execPath, AGENT], env: environment, cwd: '/' })
      // Each worker repeats every order that may have been sent; the agent must get each once.
      for (const order of orders.slice(0, answers.size + 1)) await worker.send(order.key, order.line)
      let left = fence <= 100 ? 40 + ((fence * 37) % 90) : Number.POSITIVE_INFINITY
      for await (const record of recordsOf(worker)) {
        // This worker dies with records that it read and never committed.
        if (left <= 0) {
          repeatedBytes += record.end - record.start
          break
        }
        left -= 1
        expect(record.start).toBe(committed)
        committed = record.end
        if (record.type !== 'o') continue
        const message = JSON.parse(record.payload.toString())
        if ('id' in message) {
          answers.set(message.id, (answers.get(message.id) ?? 0) + 1)
          const next = orders[answers.size]
          if (next) await worker.send(next.key, next.line)
        } else {
          updates.push(message.params.update.content.text)
        }
        if (left % 20 === 0) worker.ack(committed, committed)
        finished = answers.has(2)
        if (finished) break
      }
    }

    expect(updates).toEqual(Array.from({ length: 10_000 }, (_, i) => `${i + 1} `))
    expect([...answers]).toEqual([0, 1, 2].map(id => [id, 1]))
    expect(repeatedBytes).toBeGreaterThan(0)
  })

  test('does not repeat an order for the next worker, whatever that one asks under the same key', async () => {
    await using supervisor = await runSupervisor()
    await using first = await attach(supervisor)
    await first.start(bash('k1', 'while read -r line; do echo "got $line"; done'))
    await first.send('k2', 'one')
    const [, , echoed] = await readUntil(first, record => record.type === 'o')
    await using second = await attach(supervisor, 2, echoed?.end ?? 0)
    await second.start(bash('k1', 'echo never'))
    await second.send('k2', 'another line under the same key')
    await second.stop('k2', 0)
    await second.send('k3', 'two')
    expect((await readUntil(second, record => record.type === 'o')).map(text)).toEqual(['i k3 two', 'o got two'])
  })
})

describe('the fence', () => {
  test('refuses a lower token, and lets an equal one take over', async () => {
    await using supervisor = await runSupervisor()
    await using old = await attach(supervisor, 5)
    await expect(attach(supervisor, 4)).rejects.toMatchObject({ name: 'FenceLostError', fence: 5 })
    await using same = await attach(supervisor, 5)
    await expect(recordsOf(old).next()).rejects.toBeInstanceOf(ConnectionClosedError)
    await expect(attach(supervisor, 4)).rejects.toBeInstanceOf(FenceLostError)
    await same.ping(5000)
  })

  test('ignores the earlier and later orders of a replaced worker', async () => {
    await using supervisor = await runSupervisor()
    const socket = await supervisor.connect()
    socket.on('error', () => {})
    socket.write('{"hello":{"fence":1,"from":0}}\n')
    await using winner = await attach(supervisor, 2)
    socket.write(`${JSON.stringify({ in: { key: 'late', line: 'late' } })}\n`)
    await winner.send('mine', 'line')
    expect((await readUntil(winner, () => true)).map(text)).toEqual(['i mine line'])
  })

  test('refuses to start from an offset inside a record or beyond the journal', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.send('key', 'line')
    const [record] = await readUntil(worker, () => true)
    for (const from of [1, 3, (record?.end ?? 0) - 1, (record?.end ?? 0) + 1]) {
      await expect(attach(supervisor, 2, from)).rejects.toBeInstanceOf(SupervisorProtocolError)
    }
    await using _ = await attach(supervisor, 2, record?.end)
  })
})

describe('the output of an agent', () => {
  test('keeps invalid UTF-8, blank lines and a last line without a newline', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('k', String.raw`printf '\xff\x00\xfe\n\n  \r\nend'`))
    const lines = (await readUntil(worker, isExit)).filter(record => record.type === 'o').map(record => record.payload)
    expect(lines.map(line => line.toString('latin1'))).toEqual(['\xff\x00\xfe', '', '  \r', 'end'])
  })

  test('stamps lines with the time of writing, not of reading', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    const before = Date.now()
    await worker.start(bash('k', 'echo one'))
    const read = await readUntil(worker, isExit)
    const after = Date.now()
    const times = read.map(record => record.at?.getTime() ?? 0)
    expect(read.map(record => record.type)).toEqual(['s', 'o', 'x'])
    expect(times.every(at => at >= before && at <= after)).toBe(true)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    await using later = await attach(supervisor, 2)
    expect((await readUntil(later, isExit)).map(record => record.at)).toEqual(read.map(record => record.at))
  })

  test('turns a line of 100 MB into one record with its size, and reads the next line', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('k', 'head -c 100000000 /dev/zero | tr "\\0" x; echo; echo after'))
    const records = await readUntil(worker, isExit)
    expect(records.slice(1).map(text)).toEqual(['! {"bytes":100000000}', 'o after', 'x {"code":0,"signal":null}'])
  })

  test('keeps the longest line, and drops a line of one byte more', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    const line = (bytes: number) => `head -c ${bytes} /dev/zero | tr "\\0" x; echo;`
    await worker.start(bash('k', line(MAX_LINE_BYTES) + line(MAX_LINE_BYTES + 1)))
    const [, kept, dropped] = await readUntil(worker, isExit)
    expect(kept?.type).toBe('o')
    expect(kept?.payload.length).toBe(MAX_LINE_BYTES)
    expect(dropped && text(dropped)).toBe(`! {"bytes":${MAX_LINE_BYTES + 1}}`)
  })

  test('stops endless output at the bound until a worker acknowledges it', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('k', 'exec yes "$(head -c 4000 /dev/zero | tr "\\0" y)"'))
    const read = await readUntil(worker, record => record.end > MAX_UNACKNOWLEDGED_BYTES)
    const committed = read.at(-1)?.end ?? 0
    await worker.ping(10_000)
    const { size } = statSync(supervisor.journalPath)
    expect(size).toBeLessThan(MAX_UNACKNOWLEDGED_BYTES + 1024 * 1024)
    for (let i = 0; i < 50; i += 1) await worker.ping(10_000)
    expect(statSync(supervisor.journalPath).size).toBe(size)
    worker.ack(committed, committed)
    await readUntil(worker, record => record.type === 'o' && record.end > committed + 1024 * 1024)
    await worker.stop('stop', 0)
    for await (const batch of worker.batches()) {
      const last = batch.at(-1)
      worker.ack(last?.end ?? 0, 0)
      if (last?.type === 'x') break
    }
  })

  test('takes no more disk than workers may read again, over many workers', async () => {
    await using supervisor = await runSupervisor()
    const lines = 40_000
    const start = bash('k', `exec seq -f %04000.0f 1 ${lines}`)
    const committed = { line: 0, end: 0, keep: 0 }
    let largest = 0
    for (let fence = 1, line = 0; line < lines; fence += 1) {
      await using worker = await attach(supervisor, fence, committed.keep)
      await worker.start(start)
      line = committed.line
      for await (const record of recordsOf(worker)) {
        // Each worker dies with records that it read and never committed.
        if (record.end > 20 * 1024 * 1024 * fence) break
        if (record.type !== 'o' || record.end <= committed.end) continue
        line += 1
        expect(Number(record.payload)).toBe(line)
        if (line === lines) break
        if (line % 256 !== 0) continue
        Object.assign(committed, { line, end: record.end, keep: record.start })
        worker.ack(committed.end, committed.keep)
        largest = Math.max(largest, statSync(supervisor.journalPath).size)
      }
    }
    expect(committed.end).toBeGreaterThan(128 * 1024 * 1024)
    expect(largest).toBeLessThan(2 * (MAX_UNACKNOWLEDGED_BYTES + 1024 * 1024))
    await expect(attach(supervisor, 1000, 0)).rejects.toBeInstanceOf(SupervisorProtocolError)
    await using last = await attach(supervisor, 1000, committed.keep)
    expect((await readUntil(last, isExit)).at(-1)?.payload.toString()).toBe('{"code":0,"signal":null}')
  })

  test('can end an agent that is paused at the bound without acknowledging anything', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('k', 'exec yes "$(head -c 4000 /dev/zero | tr "\\0" y)"'))
    await readUntil(worker, record => record.end > MAX_UNACKNOWLEDGED_BYTES)
    await worker.stop('stop', 60_000)
    const last = (await readUntil(worker, isExit)).at(-1)
    expect(last?.payload.toString()).toBe('{"code":null,"signal":"SIGTERM"}')
    expect(last?.end).toBeLessThan(MAX_UNACKNOWLEDGED_BYTES + 8 * 1024 * 1024)
  })

  test('ends an agent that does not read its input before memory runs out', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('k', 'exec sleep 1000'))
    const line = 'x'.repeat(15 * 1024 * 1024)
    const sending = Promise.all(['1', '2', '3', '4', '5'].map(key => worker.send(key, line)))
    const records = await readUntil(worker, isExit)
    await sending
    expect(records.map(record => record.type).join('')).toBe('siiiiix')
    expect(records.at(-1)?.payload.toString()).toBe('{"code":null,"signal":"STDIN_FULL"}')
  })

  test('cuts lines of stderr, keeps the first and the last, and counts those between', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('k', 'head -c 9000 /dev/zero | tr "\\0" e >&2; echo >&2; seq -f "line %.0f" 1 200000 >&2'))
    const lines = (await readUntil(worker, isExit)).filter(record => record.type === 'e').map(record => record.payload)
    expect(lines[0]?.length).toBe(4096)
    expect(lines[1]?.toString()).toBe('line 1')
    expect(lines.at(-1)?.toString()).toBe('line 200000')
    expect(lines.filter(line => /^\[\d+ lines left out\]$/.test(line.toString()))).toHaveLength(1)
    expect(lines.reduce((sum, line) => sum + line.length + 1, 0)).toBeLessThan(320 * 1024)
  })
})

describe('the start and the end of an agent', () => {
  test('gives the agent its environment and directory', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    const script = 'console.log(JSON.stringify([process.env, process.cwd()]))'
    const probe = [process.execPath, '-e', script]
    await worker.start({ key: 'k', command: probe, env: { ONLY: 'this' }, cwd: '/usr' })
    const [, line] = await readUntil(worker, isExit)
    const [env, cwd] = JSON.parse(line?.payload.toString() ?? '')
    expect(env).toEqual({ ONLY: 'this' })
    expect(cwd).toBe('/usr')
  })

  test('passes no descriptor that leaked to the supervisor on to the agent', async () => {
    await using supervisor = await runSupervisor({ prefix: ['bash', '-c', 'exec 200</dev/null "$@"', 'leak'] })
    await using worker = await attach(supervisor)
    await worker.start(bash('k', 'ls /proc/$$/fd; true'))
    const open = (await readUntil(worker, isExit)).filter(record => record.type === 'o').map(text)
    expect(open).toEqual(['o 0', 'o 1', 'o 2'])
  })

  test('says why an agent cannot be started', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start({ key: 'a', command: ['no-such-program'], env: environment, cwd: '/' })
    await worker.start({ key: 'b', command: ['bash'], env: environment, cwd: '/no/such/directory' })
    await worker.start({ key: 'c', command: ['/etc/passwd'], env: environment, cwd: '/' })
    await worker.start({ key: 'd', command: ['bash', '-c', 'x'.repeat(300_000)], env: environment, cwd: '/' })
    const records: JournalRecord[] = []
    for await (const record of recordsOf(worker)) if (records.push(record) === 4) break
    const reasons = records.map(record => [record.key, JSON.parse(record.payload.toString()).code])
    expect(reasons.toSorted()).toEqual([
      ['a', 'ENOENT'],
      ['b', 'ENOENT'],
      ['c', 'EACCES'],
      ['d', 'E2BIG'],
    ])
    await worker.start(bash('e', 'exit 0'))
    expect((await readUntil(worker, isExit)).map(record => record.type)).toEqual(['s', 'x'])
  })

  test('refuses a second agent while the first runs', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('one', 'read -r line'))
    await worker.start(bash('two', 'true'))
    const records = await readUntil(worker, record => record.type === 'f')
    expect(records.map(record => [record.type, record.key])).toEqual([
      ['s', 'one'],
      ['f', 'two'],
    ])
    await worker.send('line', '')
    expect((await readUntil(worker, isExit)).map(record => record.type)).toEqual(['i', 'x'])
  })

  test('journals input after the end of the agent', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('start', 'exit 7'))
    await readUntil(worker, isExit)
    await worker.send('late', 'x')
    await worker.stop('stop', 0)
    expect((await readUntil(worker, record => record.type === 'k')).map(text)).toEqual(['i late x', 'k stop '])
  })

  test('records a crash with its code or signal, after all output', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('a', 'echo last; echo words >&2; kill -SEGV $$'))
    const records = await readUntil(worker, isExit)
    expect(records.slice(1).map(text).toSorted()).toEqual(['e words', 'o last', 'x {"code":null,"signal":"SIGSEGV"}'])
    expect(records.at(-1)?.type).toBe('x')
  })

  test('kills an agent that ignores a stop, and its children', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('a', 'trap "" TERM; (trap "" TERM; while :; do sleep 1; done) & echo $!; wait; wait'))
    const [, line] = await readUntil(worker, record => record.type === 'o')
    await worker.stop('stop', 50)
    const records = await readUntil(worker, isExit)
    expect(records.map(text)).toEqual(['k stop ', 'x {"code":null,"signal":"SIGKILL"}'])
    await processEnd(Number(line?.payload.toString()))
  })

  test('moves the kill forward for a second stop, never back', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('a', 'trap "" TERM; echo up; while :; do sleep 1; done'))
    await readUntil(worker, record => record.type === 'o')
    await worker.stop('patient', 3_600_000)
    await worker.stop('now', 0)
    await worker.stop('patient-again', 3_600_000)
    expect((await readUntil(worker, isExit)).at(-1)?.payload.toString()).toBe('{"code":null,"signal":"SIGKILL"}')
  })

  test('lets an agent that obeys a stop finish', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('a', 'trap "echo bye; exit 4" TERM; echo up; while :; do read -r -t 1 line; done'))
    await readUntil(worker, record => record.type === 'o')
    await worker.stop('stop', 60_000)
    expect((await readUntil(worker, isExit)).map(text)).toEqual(['k stop ', 'o bye', 'x {"code":4,"signal":null}'])
  })

  test('records the end although children hold the pipes', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    await worker.start(bash('a', 'sleep 1000 & exit 0'))
    expect((await readUntil(worker, isExit)).at(-1)?.payload.toString()).toBe('{"code":0,"signal":null}')
  })

  test('keeps the supervisor alive whatever signals an agent sends', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const) {
      process.kill(supervisor.pid, signal)
    }
    await worker.ping(10_000)
    await worker.start(bash('a', `tr '\\0' ' ' < /proc/${supervisor.pid}/cmdline; cat /proc/${supervisor.pid}/comm`))
    const names = (await readUntil(worker, isExit)).filter(record => record.type === 'o').map(text)
    expect(names.join(' ')).toContain('berth-supervisor')
    expect(names.join(' ')).not.toContain('node')
  })

  test('closes the connection when the supervisor dies', async () => {
    const supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    const reading = expect(readUntil(worker, isExit)).rejects.toBeInstanceOf(ConnectionClosedError)
    await supervisor[Symbol.asyncDispose]()
    await reading
    await expect(worker.send('k', 'x')).rejects.toBeInstanceOf(ConnectionClosedError)
    await expect(worker.ping(1000)).rejects.toBeInstanceOf(ConnectionClosedError)
  })
})

describe('a full disk', () => {
  test('ends the agent, says so, and refuses the next one', async () => {
    await using supervisor = await runSupervisor({ prefix: ['prlimit', '--fsize=100000'] })
    await using worker = await attach(supervisor)
    await worker.start(bash('a', 'exec yes'))
    const records = await readUntil(worker, isExit)
    expect(records.at(-1)?.payload.toString()).toBe('{"code":null,"signal":"JOURNAL_FAILED","error":"EFBIG"}')
    // The failed write was partial; the file must hold whole records only.
    const journal = readFileSync(supervisor.journalPath, 'latin1')
    expect(journal.length).toBe(records.at(-2)?.end)
    expect(journal.endsWith('\n')).toBe(true)
    await worker.send('lost', 'x')
    await worker.start(bash('b', 'true'))
    expect((await readUntil(worker, () => true)).map(text)).toEqual(['f b {"code":"JOURNAL_FAILED","error":"EFBIG"}'])
    // The next worker reads the same end.
    await using next = await attach(supervisor, 2, records.at(-2)?.end)
    expect((await readUntil(next, record => record.type === 'f')).map(record => record.type)).toEqual(['x', 'f'])
  })

  test('ends the agent even if the first byte does not fit', async () => {
    await using supervisor = await runSupervisor({ journalPath: '/dev/full' })
    await using worker = await attach(supervisor)
    await worker.start(bash('a', 'sleep 1000'))
    const [record] = await readUntil(worker, isExit)
    expect(record?.payload.toString()).toBe('{"code":null,"signal":"JOURNAL_FAILED","error":"ENOSPC"}')
  })
})

describe('a silent supervisor', () => {
  /** Both ends of an in-memory connection, so that silence needs no waiting. */
  function silentWire(): { near: Duplex; far: PassThrough } {
    const far = new PassThrough()
    return { near: Duplex.from({ readable: far, writable: new PassThrough().resume() }), far }
  }

  /** Timers that a test fires by hand. */
  function timers() {
    const pending = new Set<() => void>()
    return {
      setTimer: (callback: () => void) => {
        pending.add(callback)
        return () => void pending.delete(callback)
      },
      fire() {
        const now = [...pending]
        pending.clear()
        for (const callback of now) callback()
      },
    }
  }

  test('counts as frozen before its greeting', async () => {
    const clock = timers()
    const { near } = silentWire()
    const opening = SupervisorConnection.open(near, { fence: 1, from: 0, helloDeadlineMs, setTimer: clock.setTimer })
    clock.fire()
    await expect(opening).rejects.toBeInstanceOf(SandboxFrozenError)
    expect(near.destroyed).toBe(true)
  })

  test('counts as frozen when it is stopped', async () => {
    await using supervisor = await runSupervisor()
    await using worker = await attach(supervisor)
    process.kill(supervisor.pid, 'SIGSTOP')
    await expect(worker.ping(100)).rejects.toBeInstanceOf(SandboxFrozenError)
    // bound: nobody answers
    const again = SupervisorConnection.open(await supervisor.connect(), { fence: 2, from: 0, helloDeadlineMs: 100 })
    await expect(again).rejects.toBeInstanceOf(SandboxFrozenError)
    process.kill(supervisor.pid, 'SIGCONT')
    await using _ = await attach(supervisor, 2)
  })

  test('does not count as frozen while bytes arrive or this side pauses them', async () => {
    const clock = timers()
    const { near, far } = silentWire()
    far.write('{"welcome":{"fence":1,"size":0}}\n')
    await using worker = await SupervisorConnection.open(near, {
      fence: 1,
      from: 0,
      helloDeadlineMs,
      setTimer: clock.setTimer,
    })
    const pinged = worker.ping(1000)
    far.write(`o 1 ${'x'.repeat(1_200_000)}\n`)
    while (!near.isPaused()) await new Promise(resolve => near.once('data', resolve))
    clock.fire()
    clock.fire()
    await worker.batches().next()
    clock.fire()
    far.write('p 1\n')
    await pinged
  })

  test('is no longer awaited after an abort', async () => {
    const { near } = silentWire()
    const abort = new AbortController()
    const opening = SupervisorConnection.open(near, { fence: 1, from: 0, helloDeadlineMs, signal: abort.signal })
    abort.abort(new Error('shutting down'))
    await expect(opening).rejects.toThrow('shutting down')
  })

  test.each([
    ['a greeting that is none', ['hello\n']],
    ['an endless greeting', ['x'.repeat(5000)]],
    ['an unknown record', ['{"welcome":{"fence":1,"size":0}}\n', 'z what\n']],
    ['a record without its key', ['{"welcome":{"fence":1,"size":0}}\n', 'i \n']],
    ['a record without its time', ['{"welcome":{"fence":1,"size":0}}\n', 'o {}\n']],
    ['a record whose time is none', ['{"welcome":{"fence":1,"size":0}}\n', 'x 1e999 {}\n']],
  ])('%s ends the connection', async (_, lines) => {
    const { near, far } = silentWire()
    for (const line of lines) far.write(line)
    const reading = SupervisorConnection.open(near, { fence: 1, from: 0, helloDeadlineMs }).then(worker =>
      recordsOf(worker).next(),
    )
    await expect(reading).rejects.toBeInstanceOf(SupervisorProtocolError)
  })
})

function request(id: number, method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

function prompt(id: number, script: string): string {
  return request(id, 'session/prompt', { sessionId: 'scripted-1', prompt: [{ type: 'text', text: script }] })
}

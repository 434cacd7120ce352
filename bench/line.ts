// Measures what a call and a byte cost on the line to a host in another process, against a unix socket of that process. Run
// as: node bench/line.ts [rounds] [MiB]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createSocketServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { Line } from '../packages/server/src/line/line.ts'
import { serveLine } from '../packages/server/src/line/serve-line.ts'
import { dialLine, takeUpgrade } from '../packages/server/src/line/upgrade.ts'
import { quantile } from './support/statistics.ts'

const MIB = 1024 ** 2
const part = Buffer.alloc(64 * 1024, 7)

/** Answers each byte with one, or a request for many with so many. */
function serve(stream: Duplex): void {
  stream.on('error', () => undefined)
  stream.on('data', (asked: Buffer) => {
    const mebibytes = asked.length === 4 ? asked.readUInt32BE() : 0
    if (mebibytes === 0) return void stream.write('x')
    let left = (mebibytes * MIB) / part.length
    const more = () => {
      while (left > 0) {
        left -= 1
        if (!stream.write(part)) return
      }
      stream.off('drain', more).end()
    }
    stream.on('drain', more)
    more()
  })
}

if (process.argv[2] === 'host') {
  const [url = '', path = ''] = process.argv.slice(3)
  createSocketServer(serve).listen(path)
  const { socket } = await dialLine(new URL(url), {}, AbortSignal.timeout(5000))
  const attach = async ({ answer }: { answer(value: unknown): Duplex }) => {
    const supervisor = connect(path)
    await once(supervisor, 'connect')
    const stream = answer(null)
    stream.pipe(supervisor).pipe(stream)
    supervisor.on('error', () => undefined)
  }
  const line = serveLine(socket, { attach })
  await line.closed
  process.exit()
}

const rounds = Number(process.argv[2] ?? 2_000)
const mebibytes = Number(process.argv[3] ?? 1_024)
const directory = await mkdtemp(join(tmpdir(), 'berth-line-'))
const path = join(directory, 's')
const taken = Promise.withResolvers<Line>()
const server = createServer().listen(0, '127.0.0.1')
server.on('upgrade', (_, socket, head) => {
  takeUpgrade(socket, head, {})
  taken.resolve(new Line(socket, { errors: {} }))
})
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const host = fork(import.meta.filename, ['host', url, path])
const line = await taken.promise

const ways: Readonly<Record<string, () => Promise<Duplex>>> = {
  async 'unix socket'() {
    const socket = connect(path)
    await once(socket, 'connect')
    return socket
  },
  line: async () => (await line.open('attach', {})).stream,
}

/** Attaches, and waits for the answer to one byte. */
async function attach(open: () => Promise<Duplex>): Promise<number> {
  const start = performance.now()
  const stream = await open()
  stream.write('x')
  await once(stream, 'data')
  const took = performance.now() - start
  stream.destroy()
  return took
}

async function speed(open: () => Promise<Duplex>): Promise<number> {
  const stream = await open()
  const asked = Buffer.alloc(4)
  asked.writeUInt32BE(mebibytes)
  const start = performance.now()
  stream.write(asked)
  let bytes = 0
  stream.on('data', (read: Buffer) => {
    bytes += read.length
  })
  await once(stream, 'end')
  const seconds = (performance.now() - start) / 1000
  stream.destroy()
  return bytes / MIB / seconds
}

// By turns, so that what else the machine does falls on both.
const took: Record<string, number[]> = Object.fromEntries(Object.keys(ways).map(name => [name, []]))
for (let n = 0; n < rounds; n++) {
  for (const [name, open] of Object.entries(ways)) took[name]?.push(await attach(open))
}
for (const [name, times] of Object.entries(took)) {
  const of = (share: number) => quantile(times, share).toFixed(2)
  console.info(`${name}: attach and one byte back: p50 ${of(0.5)} ms, p99 ${of(0.99)} ms`)
}
for (const [name, open] of Object.entries(ways)) {
  const found = [await speed(open), await speed(open), await speed(open)]
  console.info(`${name}: one stream: ${found.map(one => one.toFixed(0)).join(', ')} MiB/s`)
}
line.destroy(new Error('done'))
host.kill()
server.close()
await rm(directory, { recursive: true })

// Measures the start of a service, from its process to the first 200 of `/readyz`: on an empty data directory, again
// after an orderly end, and after `kill -9`. With another program, such as packages/server/src/main.ts or that of another
// checkout, it compares second starts by turns instead, also by processor time and memory. Run after `npm run build` as:
// node bench/start.ts [starts] [program]
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './support/bench-service.ts'
import { median, quantile } from './support/statistics.ts'

const BOUND_MS = 3000
const starts = Number(process.argv[2] ?? 7)
const own = resolve(import.meta.dirname, '../packages/server/dist/main.js')
const other = process.argv[3]

/** What a start takes until the service is ready: milliseconds, those of a processor, and megabytes. */
type Start = readonly [ms: number, processorMs: number, megabytes: number]

/** Starts the service, waits until it is ready, and ends it. */
async function start(dataDir: string, end: NodeJS.Signals, program = own): Promise<Start> {
  const port = await freePort()
  const begun = performance.now()
  const child: ChildProcess = spawn(process.execPath, [resolve(program)], {
    env: { PATH: process.env['PATH'], BERTH_DATA_DIR: dataDir, BERTH_PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = once(child, 'exit')
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      answer => answer.ok,
      () => false,
    )
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error('the service did not start')
    await sleep(5)
  }
  const took = performance.now() - begun
  // Linux counts in hundredths of a second, and in pages of 4 KiB.
  const used = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ').map(Number) ?? []
  const [user = Number.NaN, system = Number.NaN, pages = Number.NaN] = [used[11], used[12], used[21]]
  child.kill(end)
  await exited
  return [took, (user + system) * 10, (pages * 4096) / 1e6]
}

async function series(dataDir: string, end: NodeJS.Signals): Promise<number[]> {
  const all: number[] = []
  for (let n = 0; n < starts; n += 1) all.push((await start(dataDir, end))[0])
  return all
}

const print = (line: string) => process.stdout.write(`${line}\n`)
if (other === undefined) await measure()
else await compare(other)

/** Compares second starts of the two programs, each on a directory of its own. */
async function compare(theirs: string): Promise<void> {
  const open = async (program: string) => ({
    program,
    dataDir: await mkdtemp(join(tmpdir(), 'berth-bench-')),
    took: [] as Start[],
  })
  const sides = await Promise.all([own, theirs].map(open))
  try {
    for (const { program, dataDir } of sides) await start(dataDir, 'SIGTERM', program)
    for (let n = 0; n < starts; n += 1) {
      for (const { program, dataDir, took } of sides) took.push(await start(dataDir, 'SIGTERM', program))
    }
    for (const [at, unit] of ['ms', 'ms of a processor', 'MB'].entries()) {
      const [ours = Number.NaN, others = Number.NaN] = sides.map(({ took }) => median(took.map(each => each[at] ?? 0)))
      print(`second start ${ours.toFixed(0)} against ${others.toFixed(0)} ${unit}, ratio ${(ours / others).toFixed(2)}`)
    }
  } finally {
    for (const { dataDir } of sides) await rm(dataDir, { recursive: true, force: true }).catch(console.error)
  }
}

async function measure(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-bench-'))
  const row = (title: string, values: readonly number[]) =>
    print(`${title.padEnd(32)} ${median(values).toFixed(0).padStart(6)} ${quantile(values, 1).toFixed(0).padStart(6)}`)

  try {
    const [first] = await start(dataDir, 'SIGTERM')
    const again = await series(dataDir, 'SIGTERM')
    const [, ...killed] = await series(dataDir, 'SIGKILL')
    // An orderly end clears leftovers of the killed services, such as mounts.
    await start(dataDir, 'SIGTERM')
    print(`${'milliseconds'.padEnd(32)} median    most`)
    row('first start', [first])
    row('after an orderly end', again)
    row('after kill -9', killed)
    print(`second_start_ms=${median(again).toFixed(0)} bound=${BOUND_MS}`)
    if (median(again) > BOUND_MS) process.exitCode = 1
  } finally {
    await rm(dataDir, { recursive: true, force: true }).catch(console.error)
  }
}

// Measures the start of a service, from its process to the first 200 of `/readyz`: on an empty data directory, again
// again after an orderly end, and after `kill -9`. With another checkout it compares second starts by turns instead. Run as:
// node bench/start.ts [starts] [checkout]
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './support/bench-service.ts'
import { median, quantile } from './support/statistics.ts'

const BOUND_MS = 3000
const starts = Number(process.argv[2] ?? 7)
const own = resolve(import.meta.dirname, '..')
const other = process.argv[3]

/** Starts the service, waits until it is ready, and ends it. @returns milliseconds until it was ready */
async function startMs(dataDir: string, end: NodeJS.Signals, checkout = own): Promise<number> {
  const port = await freePort()
  const begun = performance.now()
  const child: ChildProcess = spawn(process.execPath, [resolve(checkout, 'packages/server/src/main.ts')], {
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
  child.kill(end)
  await exited
  return took
}

async function series(dataDir: string, end: NodeJS.Signals): Promise<number[]> {
  const all: number[] = []
  for (let n = 0; n < starts; n += 1) all.push(await startMs(dataDir, end))
  return all
}

const print = (line: string) => process.stdout.write(`${line}\n`)
if (other === undefined) await measure()
else await compare(other)

/** Compares second starts of the two checkouts, each on a directory of its own. */
async function compare(checkout: string): Promise<void> {
  const open = async (at: string) => ({
    at,
    dataDir: await mkdtemp(join(tmpdir(), 'berth-bench-')),
    took: [] as number[],
  })
  const sides = await Promise.all([own, checkout].map(open))
  try {
    for (const { at, dataDir } of sides) await startMs(dataDir, 'SIGTERM', at)
    for (let n = 0; n < starts; n += 1) {
      for (const { at, dataDir, took } of sides) took.push(await startMs(dataDir, 'SIGTERM', at))
    }
    const [ours = Number.NaN, theirs = Number.NaN] = sides.map(({ took }) => median(took))
    print(
      `second start ${ours.toFixed(0)} ms, of ${checkout} ${theirs.toFixed(0)} ms, ratio ${(ours / theirs).toFixed(2)}`,
    )
  } finally {
    for (const { dataDir } of sides) await rm(dataDir, { recursive: true, force: true }).catch(console.error)
  }
}

async function measure(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-bench-'))
  const row = (title: string, values: readonly number[]) =>
    print(`${title.padEnd(32)} ${median(values).toFixed(0).padStart(6)} ${quantile(values, 1).toFixed(0).padStart(6)}`)

  try {
    const first = await startMs(dataDir, 'SIGTERM')
    const again = await series(dataDir, 'SIGTERM')
    const [, ...killed] = await series(dataDir, 'SIGKILL')
    // An orderly end clears leftovers of the killed services, such as mounts.
    await startMs(dataDir, 'SIGTERM')
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

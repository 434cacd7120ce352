import { parseArgs } from 'node:util'
import { chaos } from '../packages/testing/src/faults/chaos.ts'
import { type Fault, faults } from '../packages/testing/src/faults/chaos-faults.ts'
import { type WorkName, works } from '../packages/testing/src/faults/chaos-work.ts'

// Kills, freezes, cuts off, fills and misleads APIs, workers, machines that dial them, their database, their bucket and their
// sandboxes at random, and proves that no sealed work was lost.
// npm run chaos -- --hours 1
const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '200' },
    apis: { type: 'string', default: '2' },
    workers: { type: 'string', default: '2' },
    takers: { type: 'string', default: '2' },
    machines: { type: 'string', default: '2' },
    hours: { type: 'string' },
    seconds: { type: 'string', default: '600' },
    works: { type: 'string', default: Object.keys(works).join() },
    faults: { type: 'string', default: [...faults, 'worker', 'sandbox', 'sandbox'].join() },
    'every-ms': { type: 'string', default: '5000' },
    'at-once': { type: 'string', default: '6' },
  },
})
const interruption = new AbortController()
// More than one may come, such as from a terminal and from npm; the first one counts.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interruption.abort(signal))
// npm may be killed, and tells nobody then. Nobody reads the output any more, which must not end this process either.
const parent = process.ppid
const watch = setInterval(() => process.ppid === parent || interruption.abort('the end of its parent'), 1_000)
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
try {
  const report = await chaos({
    apis: Number(values.apis),
    workers: Number(values.workers),
    takers: Number(values.takers),
    machines: Number(values.machines),
    sessions: Number(values.sessions),
    works: values.works.split(',') as WorkName[],
    atOnce: Number(values['at-once']),
    durationMs: (values.hours === undefined ? Number(values.seconds) : Number(values.hours) * 3600) * 1000,
    everyMs: Number(values['every-ms']),
    faults: values.faults.split(',') as Fault[],
    log: line => process.stderr.write(`${new Date().toISOString()} ${line}\n`),
    interruption: interruption.signal,
  })
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
  if (report.failures.length > 0) process.exitCode = 1
} catch (error) {
  if (!interruption.signal.aborted) throw error
  process.stderr.write(`ended by ${interruption.signal.reason}; nothing is left of it\n`)
  // Requests to services that are gone still wait for their answers.
  process.exit(130)
} finally {
  clearInterval(watch)
}

import { parseArgs } from 'node:util'
import { chaos } from '../packages/server/test/support/faults/chaos.ts'
import { type Fault, faults } from '../packages/server/test/support/faults/chaos-faults.ts'
import { type WorkName, works } from '../packages/server/test/support/faults/chaos-work.ts'

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
  said: line => process.stderr.write(`${new Date().toISOString()} ${line}\n`),
})
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
if (report.failures.length > 0) process.exitCode = 1

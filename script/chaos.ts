import { parseArgs } from 'node:util'
import { chaos } from '../packages/server/test/support/faults/chaos.ts'
import { faults } from '../packages/server/test/support/faults/chaos-fleet.ts'

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
    'every-ms': { type: 'string', default: '2000' },
  },
})
const report = await chaos({
  apis: Number(values.apis),
  workers: Number(values.workers),
  takers: Number(values.takers),
  machines: Number(values.machines),
  sessions: Number(values.sessions),
  durationMs: (values.hours === undefined ? Number(values.seconds) : Number(values.hours) * 3600) * 1000,
  everyMs: Number(values['every-ms']),
  faults: [...faults, 'worker', 'sandbox', 'sandbox'],
})
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)

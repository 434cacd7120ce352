import { parseArgs } from 'node:util'
import { chaos } from '../packages/server/test/support/faults/chaos.ts'
import { faults } from '../packages/server/test/support/faults/chaos-fleet.ts'

// Kills, freezes and misleads APIs, workers, their database, their bucket and their sandboxes at random, and proves that no
// sealed work was lost.
// npm run chaos -- --hours 1
const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '200' },
    apis: { type: 'string', default: '2' },
    workers: { type: 'string', default: '3' },
    hours: { type: 'string' },
    seconds: { type: 'string', default: '600' },
    'every-ms': { type: 'string', default: '2000' },
  },
})
const report = await chaos({
  apis: Number(values.apis),
  workers: Number(values.workers),
  sessions: Number(values.sessions),
  durationMs: (values.hours === undefined ? Number(values.seconds) : Number(values.hours) * 3600) * 1000,
  everyMs: Number(values['every-ms']),
  faults: [...faults, 'worker', 'sandbox', 'sandbox'],
})
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)

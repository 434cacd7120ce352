import { parseArgs } from 'node:util'
import { chaos } from '../packages/server/test/support/faults/chaos.ts'

// Kills the API, two workers, their database and their sandboxes at random, and proves that no sealed work was lost.
// npm run chaos -- --sessions 50 --seconds 600 --every-ms 2000
const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '600' },
    'every-ms': { type: 'string', default: '2000' },
  },
})
const report = await chaos({
  sessions: Number(values.sessions),
  durationMs: Number(values.seconds) * 1000,
  everyMs: Number(values['every-ms']),
})
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)

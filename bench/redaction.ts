// Compares appends to Sessions whose sandboxes were given 100 secrets with appends to Sessions without any: 64 Sessions at
// once, in turns, through the real path. Run as: node bench/redaction.ts [events]
import { randomBytes, randomUUID } from 'node:crypto'
import type { SessionKey } from '../packages/server/src/kit/session-key.ts'
import { appendEvents } from '../packages/server/src/sessions/log/append.ts'
import { rememberSecrets } from '../packages/server/src/sessions/log/session-redactor.ts'
import { MasterKey } from '../packages/server/src/storage/master-key.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { median, show } from './support/statistics.ts'

const SESSIONS = 64
const SECRETS = 100
const ROUNDS = 9
const BOUND = 1.1
const perSession = Math.ceil(Number(process.argv[2] ?? 12_800) / SESSIONS)
const note = 'const text = await readFile(join(root, name)) // and so on\n'.repeat(4)
const data = { activityId: randomUUID(), category: 'tool', name: 'bash', status: 'started', note }

await using bench = await openBenchDatabase(32)
const { db } = bench
db.masterKey = new MasterKey(randomBytes(32))

async function millisecondsOf(keys: readonly SessionKey[]): Promise<number> {
  const start = performance.now()
  await Promise.all(
    keys.map(async key => {
      for (let sequence = 1; sequence <= perSession; sequence += 1)
        await appendEvents(db, key, [{ type: 'svc.run.progress', data }], new Date())
    }),
  )
  return performance.now() - start
}

const ratios: number[] = []
for (let round = 0; round <= ROUNDS; round += 1) {
  const [plain, given] = [await bench.newSessions(SESSIONS), await bench.newSessions(SESSIONS)]
  for (const key of given) {
    const secrets = Array.from({ length: SECRETS }, () => randomBytes(24).toString('base64'))
    await db.transaction(tx => rememberSecrets(tx, key, 'environment', secrets, new Date()))
    // The first append of a process loads them.
    await appendEvents(db, key, [{ type: 'svc.run.progress', data }], new Date())
  }
  // The two sides take turns at going first.
  const first = await millisecondsOf(round % 2 === 0 ? plain : given)
  const second = await millisecondsOf(round % 2 === 0 ? given : plain)
  if (round > 0) ratios.push(round % 2 === 0 ? second / first : first / second)
}
console.info(`redaction_ratio=${show(median(ratios))} of ${ratios.map(ratio => show(ratio)).join(', ')} bound=${BOUND}`)

import { expect, it } from 'vitest'
import { chaos } from '../support/faults/chaos.ts'

it('random kills of the api, its workers, their database and their sandboxes lose nothing that was sealed', {
  timeout: 600_000,
}, async () => {
  const { runs, faults, questions } = await chaos({
    apis: 1,
    workers: 2,
    sessions: 6,
    durationMs: 60_000,
    everyMs: 1500,
    faults: ['api', 'worker', 'worker', 'database', 'sandbox', 'sandbox', 'sandbox'],
  })
  expect(runs['completed'] ?? 0).toBeGreaterThan(0)
  expect(Object.keys(questions)).not.toEqual([])
  expect(Object.values(faults).reduce((sum, n) => sum + n, 0)).toBeGreaterThan(0)
})

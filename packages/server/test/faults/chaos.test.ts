import { chaos } from '@berth/testing/faults/chaos.ts'
import { expect, it } from 'vitest'

it('random kills of the api, its workers, their machines, database and sandboxes lose nothing that was sealed', {
  // Longer than the patience of a Run in the storm and of one in the calm, which say what they waited for.
  timeout: 1_200_000,
}, async () => {
  const { failures, runs, faults, questions, sandboxes } = await chaos({
    apis: 1,
    workers: 1,
    takers: 1,
    machines: 1,
    sessions: 8,
    works: ['shell', 'native', 'asking', 'committing'],
    atOnce: 8,
    durationMs: 90_000,
    // bound: a pause between two faults
    everyMs: 1500,
    faults: ['api', 'worker', 'worker', 'machine', 'line', 'database', 'connections', 'sandbox', 'sandbox', 'sandbox'],
  })
  // As text, which a failure shows whole.
  expect(failures.join('\n')).toBe('')
  for (const work of ['shell', 'native', 'asking', 'committing'])
    expect(runs[`${work} completed`], JSON.stringify(runs)).toBeGreaterThan(0)
  expect(Object.keys(questions)).not.toEqual([])
  expect(Object.keys(sandboxes).sort()).toEqual(['bubblewrap', 'remote'])
  expect(Object.values(faults).reduce((sum, n) => sum + n, 0)).toBeGreaterThan(0)
})

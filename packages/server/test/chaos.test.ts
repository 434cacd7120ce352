import { expect, it } from 'vitest'
import { chaos } from './support/chaos.ts'

it('random kills of the service, its database and its sandboxes lose nothing that was sealed', {
  timeout: 400_000,
}, async () => {
  const { runs, kills } = await chaos({ sessions: 4, durationMs: 20_000, everyMs: 1500 })
  expect(runs['completed'] ?? 0).toBeGreaterThan(0)
  expect(Object.values(kills).reduce((sum, n) => sum + n, 0)).toBeGreaterThan(0)
})

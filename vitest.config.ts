import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { aloneFiles, LongestFirst } from './script/lib/test-order.ts'

const shared = {
  setupFiles: ['script/lib/property-seed.ts'],
  testTimeout: 240_000,
  hookTimeout: 240_000,
  // A second, as it is by default, is not enough on a busy machine.
  expect: { poll: { timeout: 60_000, interval: 20 } },
  pool: 'forks' as const,
}

export default defineConfig({
  test: {
    globalSetup: ['packages/server/test/support/storage/postgres-setup.ts'],
    // Most of a test is waiting, so a worker more than there are cores keeps them busy.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { ...shared, name: 'alone', include: [...aloneFiles] } },
      {
        test: {
          ...shared,
          name: 'together',
          include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'script/**/*.test.ts'],
          exclude: [...aloneFiles, '**/node_modules/**'],
          // Each worker loads the service once for all its files, instead of once for each.
          isolate: false,
        },
      },
    ],
  },
})

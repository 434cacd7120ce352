import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'script/**/*.test.ts'],
    globalSetup: ['packages/server/test/support/storage/postgres-setup.ts'],
    setupFiles: ['script/lib/property-seed.ts'],
    testTimeout: 240_000,
    hookTimeout: 240_000,
    pool: 'forks',
    // One fewer than there are cores would be one where there are two, and most of a test is waiting.
    maxWorkers: Math.max(2, availableParallelism() - 1),
  },
})

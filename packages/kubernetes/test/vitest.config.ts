import { defineConfig } from 'vitest/config'

// What script/test-kubernetes runs beside a cluster. The run of all tests does not know these files.
export default defineConfig({
  test: {
    root: new URL('../../..', import.meta.url).pathname,
    globalSetup: ['packages/testing/src/storage/postgres-setup.ts'],
    include: ['packages/kubernetes/test/*.cluster.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000, interval: 50 } },
    pool: 'forks',
    // The node has the processors of this machine, and pods ask for some of them.
    fileParallelism: false,
  },
})

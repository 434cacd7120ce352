import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { testPatterns } from './script/gate/test-files.ts'
import { aloneFiles, CostliestFirst } from './script/lib/test-order.ts'

const shared = {
  setupFiles: ['script/testing/property-seed.ts', 'script/testing/file-process.ts', 'script/testing/end-children.ts'],
  testTimeout: 240_000,
  hookTimeout: 240_000,
  // A second, as it is by default, is not enough on a busy machine.
  expect: { poll: { timeout: 60_000, interval: 20 } },
  pool: 'forks' as const,
}

/** The files that `script/test` has chosen; without it, all. */
const list = process.env['GATE_FILES']
const chosen: readonly string[] | undefined = list === undefined ? undefined : JSON.parse(readFileSync(list, 'utf8'))
const alone = aloneFiles.filter(file => chosen?.includes(file) ?? true)
const together = chosen?.filter(file => !alone.some(each => each === file)) ?? testPatterns

export default defineConfig({
  test: {
    globalSetup: ['packages/testing/src/services/bundles-setup.ts', 'packages/testing/src/storage/postgres-setup.ts'],
    // Much of a test is waiting: one worker more than there are cores left two of them idle for two fifths of a gate, two more
    // keep them busy.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: CostliestFirst },
    projects: [
      ...(alone.length === 0 ? [] : [{ test: { ...shared, name: 'alone', include: alone } }]),
      ...(together.length === 0
        ? []
        : [
            {
              test: {
                ...shared,
                name: 'together',
                include: [...together],
                exclude: [...aloneFiles, '**/node_modules/**'],
                // Each worker loads the service once for all its files, instead of once for each.
                isolate: false,
              },
            },
          ]),
    ],
  },
})

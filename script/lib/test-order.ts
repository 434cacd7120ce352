import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import type { Costs } from '../gate/tiers.ts'

/**
 * Test files that need a process of their own: they replace modules or globals for good, empty the cache of modules, or
 * measure the memory of their process.
 */
export const aloneFiles = [
  'packages/console/src/api/identity.test.ts',
  'packages/console/src/changes/comment-store.test.ts',
  'packages/console/src/routing/to.test.ts',
  'packages/platform/src/storage/blobs/s3-blobs.test.ts',
  'packages/core/test/accounts/password-work.test.ts',
  'packages/server/test/api/body-budget.test.ts',
  'packages/server/test/api/event-loop.test.ts',
  'packages/core/test/events/event-budget.test.ts',
  'packages/core/test/events/stream-budget.test.ts',
  'packages/core/test/events/stream-soak.test.ts',
  'packages/gateway/test/client-libraries.test.ts',
  'packages/core/test/people/transcription.test.ts',
] as const

/**
 * Runs the costliest files first, by `script/gate/costs.json`: one of them at the end would run by itself while the other
 * cores wait, and two minutes of a gate went that way. Files of one project run one after another, since only those share a
 * process.
 */
export class CostliestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config
    const seconds: Costs = JSON.parse(readFileSync(join(root, 'script/gate/costs.json'), 'utf8'))
    const of = (each: TestSpecification) => seconds[relative(root, each.moduleId)] ?? 0
    return specifications.toSorted((a, b) => a.project.name.localeCompare(b.project.name) || of(b) - of(a))
  }
}

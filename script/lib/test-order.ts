import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

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
 * Test files that take longest, the longest first. One of them at the end of a run would run alone while the other
 * cores wait.
 */
export const longFiles = [
  'packages/worker/test/execution/foreign-agents.test.ts',
  'packages/server/test/faults/process-faults.test.ts',
  'packages/worker/test/execution/worker.test.ts',
  'packages/server/test/operations/embedded-postgres.test.ts',
  'packages/server/test/api/event-loop.test.ts',
  'script/image.test.ts',
] as const

/** Runs long files first, and files of one project one after another, since only those share a process. */
export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config
    const place = new Map<string, number>(longFiles.map((file, at) => [file, at - longFiles.length]))
    const of = (each: TestSpecification) => place.get(relative(root, each.moduleId)) ?? 0
    return (await super.sort(specifications)).sort(
      (a, b) => a.project.name.localeCompare(b.project.name) || of(a) - of(b),
    )
  }
}

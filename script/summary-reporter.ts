import { writeFileSync } from 'node:fs'
import type { Reporter } from 'vitest/node'

/** Writes `<passed> <failed>` to the file that TEST_SUMMARY_FILE names, for `script/run` to print as its last line. */
export default class SummaryReporter implements Reporter {
  /** Whatever could not even be run counts as failed: a file that does not load, an error outside of any test. */
  onTestRunEnd(
    modules: Parameters<NonNullable<Reporter['onTestRunEnd']>>[0],
    unhandledErrors: Parameters<NonNullable<Reporter['onTestRunEnd']>>[1],
  ): void {
    let passed = 0
    let failed = unhandledErrors.length
    for (const module of modules) {
      const suites = [...module.children.allSuites()]
      failed += [module, ...suites].filter(suite => suite.errors().length > 0).length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed += 1
        // One that is still pending was cut off with its run.
        else if (state !== 'skipped') failed += 1
      }
    }
    const path = process.env.TEST_SUMMARY_FILE
    if (path !== undefined) writeFileSync(path, `${passed} ${failed}\n`)
  }
}

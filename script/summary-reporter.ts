import { writeFileSync } from 'node:fs'
import type { Reporter } from 'vitest/node'

/** Writes `<passed> <failed>` to the file named by TEST_SUMMARY_FILE; `script/run` prints it as its last line. */
export default class SummaryReporter implements Reporter {
  /** Counts everything that could not run as failed: a file that does not load, or an error outside a test. */
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
        // A pending test was cut off when its run ended.
        else if (state !== 'skipped') failed += 1
      }
    }
    const path = process.env.TEST_SUMMARY_FILE
    if (path !== undefined) writeFileSync(path, `${passed} ${failed}\n`)
  }
}

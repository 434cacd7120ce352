import { appendFileSync, readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import type { FileResult, RecordLine } from './record.ts'
import { type Costs, longFromSeconds } from './tiers.ts'

type RunEnd = Parameters<NonNullable<Reporter['onTestRunEnd']>>
type Failure = FileResult['failures'][number]

const everyMs = 30_000

/**
 * Writes each file's result to the file that `GATE_RECORD` names, shows failures whole as they happen, and says every half
 * minute how far the run is.
 */
export default class GateReporter implements Reporter {
  readonly #path = process.env['GATE_RECORD']
  readonly #startedAt = performance.now()
  readonly #running = new Map<string, number>()
  readonly #costs: Costs = JSON.parse(process.env['GATE_COSTS'] ?? '{}')
  #vitest: Vitest | undefined
  #timer: NodeJS.Timeout | undefined
  #waiting = new Set<string>()
  #total = 0
  #files = 0
  #passed = 0
  #failed = 0
  #doneSeconds = 0

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestRunStart(specifications: readonly { readonly moduleId: string }[]): void {
    this.#waiting = new Set(specifications.map(({ moduleId }) => this.#nameOf(moduleId)))
    this.#total = this.#waiting.size
    this.#timer = setInterval(() => this.#tell(), everyMs).unref()
    // The runner asks on its way out, when it is told to end.
    process.on('SIGUSR2', () => this.#tell())
  }

  onTestModuleStart(module: TestModule): void {
    this.#running.set(this.#nameOf(module.moduleId), performance.now())
  }

  onTestModuleEnd(module: TestModule): void {
    const file = this.#nameOf(module.moduleId)
    const startedAt = this.#running.get(file) ?? performance.now()
    this.#running.delete(file)
    this.#waiting.delete(file)
    const tests = [...module.children.allTests()]
    const failures = failuresOf(module)
    const passed = tests.filter(test => test.result().state === 'passed').length
    const skipped = tests.filter(test => test.result().state === 'skipped').length
    this.#files += 1
    this.#passed += passed
    this.#failed += failures.length
    this.#doneSeconds += this.#costOf(file)
    for (const { test, text } of failures) console.info(`\nfailed: ${file} > ${test}\n${text}\n`)
    const { cpuSeconds } = module.meta() as { cpuSeconds?: number }
    this.#write({
      kind: 'file',
      file,
      passed,
      skipped,
      failures,
      ms: performance.now() - startedAt,
      cpuSeconds: cpuSeconds ?? 0,
    })
  }

  onTestRunEnd(_modules: RunEnd[0], errors: RunEnd[1]): void {
    clearInterval(this.#timer)
    const texts = errors.map(error => textOf(error))
    for (const text of texts) console.info(`\nfailed outside a test:\n${text}\n`)
    this.#write({ kind: 'end', errors: texts })
  }

  #tell(): void {
    const seconds = (performance.now() - this.#startedAt) / 1000
    const left = [...this.#waiting].reduce((sum, file) => sum + this.#costOf(file), 0)
    const rest = this.#doneSeconds === 0 ? '?' : spanOf((seconds / this.#doneSeconds) * left)
    const running = [...this.#running].map(
      ([file, at]) => `${file.split('/').at(-1)} ${spanOf((performance.now() - at) / 1000)}`,
    )
    console.info(
      `${spanOf(seconds)}  ${this.#files} of ${this.#total} files, ${this.#passed} tests passed, ${this.#failed} failed; ` +
        `load ${loadavg()[0]?.toFixed(1)}, processor pressure ${pressure()}; about ${rest} left; now: ${running.join(', ')}`,
    )
  }

  /** A file that nobody has measured counts as an ordinary one. */
  #costOf(file: string): number {
    return this.#costs[file] ?? longFromSeconds / 4
  }

  #nameOf(moduleId: string): string {
    return relative(this.#vitest?.config.root ?? process.cwd(), moduleId)
  }

  #write(line: RecordLine): void {
    if (this.#path !== undefined) appendFileSync(this.#path, `${JSON.stringify(line)}\n`)
  }
}

/** Counts everything that could not run as failed: a file that does not load, a suite whose hook failed, a test that was cut off. */
function failuresOf(module: TestModule): readonly Failure[] {
  const suites = [module, ...module.children.allSuites()].flatMap(suite =>
    suite.errors().length === 0
      ? []
      : [{ test: suite.type === 'module' ? '(file)' : suite.fullName, text: suite.errors().map(textOf).join('\n') }],
  )
  const tests = [...module.children.allTests()].flatMap(test => {
    const result = test.result()
    if (result.state === 'passed' || result.state === 'skipped') return []
    const text = result.state === 'failed' ? result.errors.map(textOf).join('\n') : 'did not end'
    return [{ test: test.fullName, text }]
  })
  return [...suites, ...tests]
}

function textOf(error: { readonly message: string; readonly stack?: string; readonly diff?: string }): string {
  const stack = error.stack ?? ''
  const head = stack.includes(error.message) ? stack : `${error.message}\n${stack}`
  return stripVTControlCharacters([head, error.diff].filter(Boolean).join('\n'))
}

/** The share of the last ten seconds in which something waited for a processor, in percent. */
function pressure(): string {
  try {
    return `${/avg10=([0-9]+)/.exec(readFileSync('/proc/pressure/cpu', 'utf8'))?.[1] ?? '?'} %`
  } catch {
    return '?'
  }
}

function spanOf(seconds: number): string {
  const whole = Math.round(seconds)
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}

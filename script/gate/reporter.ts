import { appendFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { countedSeconds, lookMs, mayTake } from './file-time.ts'
import { pressureOf } from './ledger.ts'
import { killChild } from './marked-processes.ts'
import { type FileResult, processAt, type RecordLine } from './record.ts'
import { type Costs, longFromSeconds } from './tiers.ts'

type RunEnd = Parameters<NonNullable<Reporter['onTestRunEnd']>>
type Failure = FileResult['failures'][number]

interface Running {
  /** Another object once its tests are known. */
  module: TestModule
  readonly startedAt: number
  /** Seconds that count against it. */
  seconds: number
  /** Its process may still be kept by something that it has left behind. */
  hasEnded: boolean
}

const everyMs = 30_000
const didNotEnd = 'did not end'

/**
 * Writes each file's result to the file that `GATE_RECORD` names, shows failures whole as they happen, says every half minute
 * how far the run is, and kills the process of a file that takes longer than it may.
 */
export default class GateReporter implements Reporter {
  readonly #path = process.env['GATE_RECORD']
  readonly #startedAt = performance.now()
  readonly #running = new Map<string, Running>()
  /** Paths of the files whose process ended before they did. */
  readonly #cutOff = new Set<string>()
  readonly #costs: Costs = JSON.parse(process.env['GATE_COSTS'] ?? '{}')
  #vitest: Vitest | undefined
  #timers: readonly NodeJS.Timeout[] = []
  #lookedAt = performance.now()
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
    this.#timers = [setInterval(() => this.#report(), everyMs), setInterval(() => this.#endBlocked(), lookMs)]
    for (const timer of this.#timers) timer.unref()
    // The runner asks on its way out, when it is told to end.
    process.on('SIGUSR2', () => this.#report())
  }

  onTestModuleQueued(module: TestModule): void {
    const running = { module, startedAt: performance.now(), seconds: 0, hasEnded: false }
    this.#running.set(this.#nameOf(module.moduleId), running)
  }

  onTestModuleCollected(module: TestModule): void {
    const running = this.#running.get(this.#nameOf(module.moduleId))
    if (running !== undefined) running.module = module
  }

  onTestModuleEnd(module: TestModule): void {
    const file = this.#nameOf(module.moduleId)
    const running = this.#running.get(file)
    if (running !== undefined) this.#fileEnded(file, running, failuresOf(module))
  }

  #fileEnded(file: string, running: Running, failures: readonly Failure[]): void {
    const { module, startedAt } = running
    Object.assign(running, { hasEnded: true, seconds: 0 })
    this.#waiting.delete(file)
    const tests = [...module.children.allTests()]
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

  /** A process that never returns to its event loop heeds no time limit of a test, and is killed once its file has had its time. */
  #endBlocked(): void {
    const now = performance.now()
    const seconds = countedSeconds(now - this.#lookedAt)
    this.#lookedAt = now
    for (const [file, running] of this.#running) {
      running.seconds += seconds
      const most = mayTake(this.#costs[file] ?? 0)
      if (running.seconds <= most || this.#path === undefined) continue
      const pid = processAt(running.module.moduleId, this.#path)
      if (pid !== undefined) killChild(pid)
      if (running.hasEnded) this.#running.delete(file)
      else if (pid !== undefined) this.#lose(file, running, whyKilled(file, most))
    }
  }

  #lose(file: string, running: Running, why: string): void {
    const { moduleId, children } = running.module
    this.#cutOff.add(moduleId)
    const next = [...children.allTests()].find(test => test.result().state === 'pending')
    const text = `${why}\nThe first test without a result: ${next?.fullName ?? 'none, the file was still being loaded or was ending'}`
    const known = failuresOf(running.module).filter(failure => failure.text !== didNotEnd)
    this.#fileEnded(file, running, [...known, { test: `(file) ${didNotEnd}`, text }])
  }

  onTestRunEnd(_modules: RunEnd[0], errors: RunEnd[1]): void {
    for (const timer of this.#timers) clearInterval(timer)
    const texts = errors.map(error => textOf(error)).filter(text => !this.#isOfFile(text))
    for (const text of texts) console.info(`\nfailed outside a test:\n${text}\n`)
    this.#write({ kind: 'end', errors: texts })
  }

  /** Says whether an error is that a file's process ended, which counts as a failure of the file. */
  #isOfFile(error: string): boolean {
    if (!error.includes('Worker exited unexpectedly')) return false
    for (const [file, running] of this.#running)
      if (!running.hasEnded && error.includes(running.module.moduleId)) this.#lose(file, running, error)
    return [...this.#cutOff].some(path => error.includes(path))
  }

  #report(): void {
    const seconds = (performance.now() - this.#startedAt) / 1000
    const left = [...this.#waiting].reduce((sum, file) => sum + this.#costOf(file), 0)
    const rest = this.#doneSeconds === 0 ? '?' : spanOf((seconds / this.#doneSeconds) * left)
    const open = [...this.#running].filter(([, { hasEnded }]) => !hasEnded)
    const running = open.map(
      ([file, { startedAt }]) => `${file.split('/').at(-1)} ${spanOf((performance.now() - startedAt) / 1000)}`,
    )
    // Of the last ten seconds, the share in which something waited for a processor.
    const [, pressure] = /avg10=([0-9]+)/.exec(pressureOf()['cpu'] ?? '') ?? []
    console.info(
      `${spanOf(seconds)}  ${this.#files} of ${this.#total} files, ${this.#passed} tests passed, ${this.#failed} failed; ` +
        `load ${loadavg()[0]?.toFixed(1)}, processor pressure ${pressure ?? '?'} %; about ${rest} left; now: ${running.join(', ')}`,
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
    const text = result.state === 'failed' ? result.errors.map(textOf).join('\n') : didNotEnd
    return [{ test: test.fullName, text }]
  })
  return [...suites, ...tests]
}

function whyKilled(file: string, most: number): string {
  return (
    `did not end within ${most} s, so the run killed its process. A loop, promises that follow one another without end, or a ` +
    `call that waits keeps it from its event loop, or its loading waits for ever. Run it alone: script/test ${file}`
  )
}

interface Fault {
  readonly message: string
  readonly stack?: string
  readonly diff?: string
  readonly cause?: Fault
}

function textOf({ message, stack = '', diff, cause }: Fault): string {
  const head = stack.includes(message) ? stack : `${message}\n${stack}`
  const below = cause?.message === undefined ? '' : `caused by: ${textOf(cause)}`
  return stripVTControlCharacters([head, diff, below].filter(Boolean).join('\n'))
}

function spanOf(seconds: number): string {
  const whole = Math.round(seconds)
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}

/** Runs the gate, all tests, or some of them; see `--help`. The last line is `<n> passed, <n> failed`. */
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { changeIn, commitsIn } from './change.ts'
import { writeUnsteady } from './ledger.ts'
import { killProcessesOf, markVariable } from './marked-processes.ts'
import type { FileResult } from './record.ts'
import { type Ground, type Selected, selectAll, selectGate } from './select.ts'
import { testFilesIn } from './test-files.ts'
import { type Costs, isLong, isPure } from './tiers.ts'
import { type RunEnd, runVitest } from './vitest-run.ts'

const root = join(import.meta.dirname, '../..')
const costsPath = join(root, 'script/gate/costs.json')

const usage = `usage: script/test [--base <commit>] [--list]      the gate: every short test, the walks, an eighth of the long
                                                  tests, and each long one that the change touches or names
       script/test --all                          every test
       script/test --long [<word>…]               long tests whose path has one of the words; without words, all long ones
       script/test <word>…                        tests whose path has one of the words
  --list       prints what would run, and why
  --base       the commit that the change begins after; by default the upstream's, or the one of a day ago
  --measure    writes the processor time of each file that ran to script/gate/costs.json
`

await main()

async function main(): Promise<void> {
  const options = readOptions()
  const ground = readGround(options.base)
  const selected = choose(ground, options)
  if (options.list) {
    for (const { file, why, seconds } of selected) console.info(`${file}  ${seconds} s  ${why}`)
    console.info(`${selected.length} of ${ground.sources.size} files`)
    return
  }
  if (selected.length === 0) fail('no test file has one of these words in its path')
  process.exitCode = (await runAll(selected, ground, options.measure)) ? 0 : 1
}

interface Options {
  readonly all: boolean
  readonly long: boolean
  readonly list: boolean
  readonly measure: boolean
  readonly base: string | undefined
  readonly patterns: readonly string[]
}

function readOptions(): Options {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        all: { type: 'boolean', default: false },
        long: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        measure: { type: 'boolean', default: false },
        base: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) {
      console.info(usage)
      process.exit(0)
    }
    if (values.all && (values.long || positionals.length > 0)) throw new Error('--all takes no words and no --long')
    return { ...values, base: values.base, patterns: positionals }
  } catch (error) {
    console.error(`script/test: ${error instanceof Error ? error.message : String(error)}\n${usage}`)
    process.exit(2)
  }
}

function readGround(base: string | undefined): Ground {
  const costs: Costs = JSON.parse(readFileSync(costsPath, 'utf8'))
  const sources = new Map(testFilesIn(root).map(file => [file, readFileSync(join(root, file), 'utf8')]))
  try {
    return { sources, costs, change: changeIn(root, base), commits: commitsIn(root) }
  } catch (error) {
    return fail(`git cannot say what the change is: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function choose(ground: Ground, { all, long, patterns }: Options): readonly Selected[] {
  const whole = selectAll(ground)
  if (all) return whole
  if (long) return patterns.length === 0 ? whole.filter(({ why }) => why === 'long') : selectAll(ground, patterns)
  if (patterns.length > 0) return whole.filter(({ file }) => patterns.some(pattern => file.includes(pattern)))
  return selectGate(ground)
}

/** Returns whether everything passed, at least at its second attempt. */
async function runAll(selected: readonly Selected[], ground: Ground, measure: boolean): Promise<boolean> {
  const mark = `${process.pid}-${Date.now()}`
  process.env[markVariable] = mark
  const reaper = spawn(process.execPath, [join(root, 'script/gate/reaper.ts'), mark], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true,
    env: { ...process.env, [markVariable]: '' },
  })
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => interrupted.abort())
  const run = (files: readonly string[], alone?: true) =>
    runVitest({ root, files, costs: ground.costs, signal: interrupted.signal, ...(alone && { alone }) })

  const long = selected.filter(({ file, seconds }) => isLong(file, seconds, ground.sources.get(file) ?? ''))
  console.info(
    `${selected.length} of ${ground.sources.size} test files, ${long.length} of them long, on ${availableParallelism()} cores`,
  )
  console.info('left out: a real Kubernetes cluster; its API server and its pods are played')
  console.info(
    'left out: the images, which script/test-image builds and runs; here a service starts from the files that they get',
  )
  const files = selected.map(({ file }) => file)
  const first = await run(files)
  const results = new Map(first.files.map(result => [result.file, result]))
  const unsteady: string[] = []
  for (const failed of first.files.filter(({ failures }) => failures.length > 0)) {
    if (interrupted.signal.aborted || !mayRunAgain(failed, ground)) continue
    console.info(`\nonce more, alone: ${failed.file}`)
    const second = await run([failed.file], true)
    const [again] = second.files
    if (again === undefined || again.failures.length > 0 || second.code !== 0) continue
    const path = writeUnsteady(root, failed, commit(), new Date())
    results.set(failed.file, again)
    unsteady.push(...failed.failures.map(({ test }) => `unsteady: ${failed.file} > ${test} (${path})`))
  }
  const leaked = killProcessesOf(mark)
  reaper.stdin.end(interrupted.signal.aborted ? '' : 'done')
  await new Promise(resolve => reaper.once('exit', resolve))
  if (measure) writeCosts(first, ground)
  return conclude({
    first,
    results: [...results.values()],
    files,
    unsteady,
    leaked,
    interrupted: interrupted.signal.aborted,
  })
}

/** A file that the change holds may not blame the machine, and neither may one without processes, clock and network. */
function mayRunAgain({ file }: FileResult, { sources, change }: Ground): boolean {
  return !change.paths.has(file) && !isPure(file, sources.get(file) ?? '')
}

interface Conclusion {
  readonly first: RunEnd
  readonly results: readonly FileResult[]
  readonly files: readonly string[]
  readonly unsteady: readonly string[]
  readonly leaked: ReturnType<typeof killProcessesOf>
  readonly interrupted: boolean
}

function conclude({ first, results, files, unsteady, leaked, interrupted }: Conclusion): boolean {
  const slowest = results.toSorted((a, b) => b.ms - a.ms).slice(0, 10)
  console.info('\nslowest files:')
  for (const { file, ms, cpuSeconds } of slowest)
    console.info(`  ${(ms / 1000).toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of a processor  ${file}`)
  const missing = files.filter(file => !results.some(result => result.file === file))
  const failed = results.flatMap(({ file, failures }) => failures.map(({ test }) => `failed: ${file} > ${test}`))
  const lines = [
    ...unsteady,
    ...leaked.map(({ pid, command }) => `left running: ${pid} ${command}`),
    ...first.errors.map(error => `failed outside a test: ${error.split('\n')[0]}`),
    ...missing.map(file => `did not run: ${file}`),
    ...failed,
  ]
  const broke =
    !first.ended ||
    (first.code !== 0 && first.files.every(({ failures }) => failures.length === 0) && first.errors.length === 0)
  if (broke) lines.push('failed: the run of the tests ended with an error, which stands above')
  for (const line of lines) console.info(line)
  if (interrupted) console.info('interrupted')
  const passes = results.reduce((sum, { passed }) => sum + passed, 0)
  const skipped = results.filter(result => result.skipped > 0)
  if (skipped.length > 0)
    console.info(`skipped: ${skipped.map(({ file, skipped }) => `${skipped} of ${file}`).join(', ')}`)
  const faults = failed.length + leaked.length + first.errors.length + missing.length + (broke ? 1 : 0)
  console.info(`${passes} passed, ${faults} failed`)
  return faults === 0 && !interrupted
}

function writeCosts({ files }: RunEnd, { costs, sources }: Ground): void {
  const measured = files
    .filter(({ cpuSeconds }) => cpuSeconds > 0)
    .map(each => [each.file, Math.round(each.cpuSeconds * 10) / 10])
  const all = Object.entries({ ...costs, ...Object.fromEntries(measured) }).filter(([file]) => sources.has(file))
  all.sort(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(costsPath, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`)
}

function commit(): string {
  return execFileSync('git', ['-C', root, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()
}

function fail(message: string): never {
  console.error(`script/test: ${message}`)
  console.info('0 passed, 1 failed')
  process.exit(1)
}

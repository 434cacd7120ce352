// Measures the start of `berth --help`, and of a command, against a bare `node` that prints the same text, in pairs: wall
// time and processor time. Run as: node bench/cli-start.ts [pairs]
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './support/statistics.ts'

const pairs = Number(process.argv[2] ?? 60)
const launcher = join(import.meta.dirname, '../packages/cli/bin/berth.js')
const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'))

interface Took {
  readonly wallMs: number
  readonly processorMs: number
}

/** Runs a program to its end, and reads its time from the shell that waits for it. */
function run(args: readonly string[]): Took & { readonly output: string } {
  const begun = performance.now()
  const timed = spawnSync('bash', ['-c', 'TIMEFORMAT="%U %S"; time "$@"', 'bash', process.execPath, ...args], {
    encoding: 'utf8',
  })
  const wallMs = performance.now() - begun
  if (timed.status !== 0) throw new Error(`${args.join(' ')}: exit ${timed.status}\n${timed.stderr}`)
  const [user = Number.NaN, system = Number.NaN] = (timed.stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number)
  return { wallMs, processorMs: (user + system) * 1000, output: timed.stdout }
}

function compare(name: string, args: readonly string[], bound: string): void {
  const bare = join(folder, `${name}.mjs`)
  writeFileSync(bare, `process.stdout.write(${JSON.stringify(run([launcher, ...args]).output)})\n`)
  const [ours, theirs]: [Took[], Took[]] = [[], []]
  for (let pair = 0; pair < pairs; pair += 1) {
    theirs.push(run([bare]))
    ours.push(run([launcher, ...args]))
  }
  const of = (all: readonly Took[], figure: keyof Took) => median(all.map(one => one[figure]))
  for (const figure of ['wallMs', 'processorMs'] as const) {
    const [one, other] = [of(ours, figure), of(theirs, figure)]
    const ratio = (one / other).toFixed(2)
    const words = `${figure} ${one.toFixed(0)} against ${other.toFixed(0)}, ratio ${ratio} (${bound})`
    process.stdout.write(`berth ${args.join(' ')}: ${words}\n`)
  }
}

try {
  compare('help', ['--help'], 'bound 1.5')
  compare('version', ['--version'], 'no bound')
  compare('sessions-help', ['sessions', '--help'], 'no bound')
} finally {
  rmSync(folder, { recursive: true })
}

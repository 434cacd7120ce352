import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { BerthProcess, launcher } from './berth-process.ts'
import { ScriptedService } from './scripted-service.ts'

const cwd = mkdtempSync(join(tmpdir(), 'berth-cli-'))
afterAll(() => rmSync(cwd, { recursive: true }))

function majorOf(node: string): number {
  try {
    return Number.parseInt(execFileSync(node, ['--version'], { encoding: 'utf8' }).slice(1), 10)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** A Node on this machine that is older than the program needs. */
const oldNode = (process.env.PATH ?? '')
  .split(delimiter)
  .map(folder => join(folder, 'node'))
  .find(node => majorOf(node) < 24)

/** The Node that runs this test, and an older one if the machine has it. */
const nodes = oldNode === undefined ? [process.execPath] : [process.execPath, oldNode]

test.each(nodes)('%s starts the program and passes on its exit code', async node => {
  const it = new BerthProcess(['run'], { cwd, command: [node, launcher] })
  expect(await it.ended()).toBe(2)
  expect(it.stderr).toMatch(/missing required argument/)
})

test.each(nodes)('%s passes on an interrupt', async node => {
  await using service = await ScriptedService.start(({ path }) => {
    if (path.endsWith('/cancel')) service.append('svc.run.cancelled', { status: 'cancelled' })
  })
  const it = new BerthProcess(['run', '-f', 'hi'], { cwd, env: service.env, command: [node, launcher] })
  await it.shows('stdout', 'session ')
  service.append('svc.run.started', { attempt: 1 })
  await it.shows('stdout', 'svc.run.started')
  it.interrupt()
  expect(await it.ended()).toBe(130)
})

/** Prints in a terminal that is this many columns wide. */
function inTerminal(columns: number, entry: string): string {
  const line = `stty cols ${columns}; ${process.execPath} ${entry} --help`
  return execFileSync('script', ['-qec', line, '/dev/null'], { encoding: 'utf8' })
}

test('the launcher prints the help as the built program does, in a pipe and in terminals of any width', () => {
  const built = fileURLToPath(new URL('../dist/berth.js', import.meta.url))
  const inPipe = (entry: string) => execFileSync(process.execPath, [entry, '--help'], { encoding: 'utf8' })
  expect(inPipe(launcher)).toBe(inPipe(built))
  for (const columns of [100, 200]) expect(inTerminal(columns, launcher)).toBe(inTerminal(columns, built))
  expect(inTerminal(100, launcher)).not.toBe(inTerminal(200, launcher))
})

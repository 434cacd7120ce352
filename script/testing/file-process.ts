import { appendFileSync, readFileSync } from 'node:fs'
import { afterAll, expect } from 'vitest'
import type { RecordLine } from '../gate/record.ts'

/** Clock ticks a second, as Linux reports them to programs on every architecture that Berth runs on. */
const ticks = 100

/** Returns the processor seconds of this process and of the children that it has waited for. */
function usedSeconds(): number {
  // The name of the program, which may have spaces, ends with the last parenthesis.
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0) / ticks
}

// A process that never returns to its event loop can say nothing any more, so it says before the file is loaded which one it is.
const { GATE_RECORD: record } = process.env
const begin: RecordLine = { kind: 'begin', path: expect.getState().testPath ?? '', pid: process.pid }
if (record !== undefined) appendFileSync(record, `${JSON.stringify(begin)}\n`)

const before = usedSeconds()
// Vitest wants the first argument destructured.
// biome-ignore lint/correctness/noEmptyPattern: nothing of the context is needed
afterAll(({}, suite) => {
  Object.assign(suite.meta, { cpuSeconds: usedSeconds() - before })
})

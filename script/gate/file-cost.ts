import { readFileSync } from 'node:fs'
import { afterAll } from 'vitest'

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

const before = usedSeconds()
// Vitest wants the first argument destructured.
// biome-ignore lint/correctness/noEmptyPattern: nothing of the context is needed
afterAll(({}, suite) => {
  Object.assign(suite.meta, { cpuSeconds: usedSeconds() - before })
})

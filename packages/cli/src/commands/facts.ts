import type { Output } from '../output.ts'
import { printableLine } from '../terminal-text.ts'

/** Prints named values, one a line; a value of several parts has a line for each. */
export async function printFacts(
  facts: readonly (readonly [name: string, value: string | readonly string[]])[],
  stdout: Output,
): Promise<void> {
  const width = Math.max(...facts.map(([name]) => name.length))
  for (const [name, value] of facts) {
    const lines = typeof value === 'string' ? [value] : value
    for (const [at, line] of lines.entries()) {
      const label = stdout.paint('dim', (at === 0 ? name : '').padEnd(width))
      await stdout.line(`  ${label}  ${printableLine(line)}`)
    }
  }
}

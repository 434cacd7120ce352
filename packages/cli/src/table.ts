import type { Output } from './output.ts'
import { printableLine } from './terminal-text.ts'

/** Prints rows below a header, in columns as wide as they need to be; the last one is not padded. */
export async function printTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  stdout: Output,
): Promise<void> {
  const shown = [header, ...rows].map(row => row.map(printableLine))
  const widths = header.map((_, column) => Math.max(...shown.map(row => row[column]?.length ?? 0)))
  for (const [at, row] of shown.entries()) {
    const line = row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
    await stdout.line(at === 0 ? stdout.paint('dim', line) : line)
  }
}

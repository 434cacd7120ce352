import type { Output } from './output.ts'
import { clip, printableLine } from './terminal-text.ts'
import { timeText } from './time-text.ts'

/**
 * Prints rows. In a terminal they stand below a header, in columns as wide as they need to be, and a line ends where the
 * terminal does; times are said as people say them. In a pipe a row is its cells between tabs, without a header, for `cut` and
 * `awk`.
 */
export async function printTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  stdout: Output,
): Promise<void> {
  if (!stdout.isTerminal) {
    for (const row of rows) await stdout.line(row.map(printableLine).join('\t'))
    return
  }
  const now = Date.now()
  const shown = [header, ...rows].map(row => row.map(cell => timeText(cell, now) ?? printableLine(cell)))
  const widths = header.map((_, column) => Math.max(...shown.map(row => row[column]?.length ?? 0)))
  for (const [at, row] of shown.entries()) {
    const line = row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
    const seen = clip(line, stdout.columns)
    await stdout.line(at === 0 ? stdout.paint('dim', seen) : seen)
  }
}

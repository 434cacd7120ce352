import type { Output } from './output.ts'
import { printable } from './terminal-text.ts'

/** Prints a unified patch: to a terminal safe and with git's colours, to a program or a file as it is, since it may be applied. */
export async function printPatch(patch: string, stdout: Output): Promise<void> {
  if (!stdout.isTTY) return stdout.write(patch)
  const lines = printable(patch).split('\n')
  const last = lines.pop() ?? ''
  for (const line of lines) await stdout.line(painted(line, stdout))
  if (last !== '') await stdout.write(painted(last, stdout))
}

function painted(line: string, { paint }: Output): string {
  if (/^(?:diff --git|index|new file mode|deleted file mode|\+\+\+|---) /.test(line)) return paint('bold', line)
  if (line.startsWith('@@')) return paint('cyan', line)
  if (line.startsWith('+')) return paint('green', line)
  return line.startsWith('-') ? paint('red', line) : line
}

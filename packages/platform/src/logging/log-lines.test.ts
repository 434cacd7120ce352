import { closeSync, openSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type LogFormat, logLines } from './log-lines.ts'

const line = '{"level":30,"time":0,"msg":"ready"}\n'

test.each([
  ['auto', line],
  ['json', line],
  ['text', expect.stringMatching(/^\d\d:\d\d:\d\d INFO {2}ready\n$/)],
] satisfies [LogFormat, unknown][])('elsewhere than on a terminal, %s', (format, written) => {
  const file = openSync('/dev/null', 'w')
  try {
    const lines = logLines(format, file, {})
    expect(lines.isTerminal).toBe(false)
    expect(lines.write(line)).toEqual(written)
  } finally {
    closeSync(file)
  }
})

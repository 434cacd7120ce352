import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import { runProgram } from './run-program.ts'
import { textResult } from './text-result.ts'

const MAX_LINES = 200
const MAX_LINE = 400
const MAX_BYTES = 256 * 1024

const Parameters = Type.Object({
  pattern: Type.String({ description: 'Extended regular expression, as grep -E takes it' }),
  path: Type.Optional(Type.String({ description: 'File or directory; by default the working directory' })),
  glob: Type.Optional(Type.String({ description: "Only files of this name, such as '*.ts'" })),
  ignoreCase: Type.Optional(Type.Boolean()),
  literal: Type.Optional(Type.Boolean({ description: 'The pattern is plain text' })),
})

/** Returns a tool that searches files with the sandbox's grep, without .git, node_modules and binary files. */
export function search(cwd: string) {
  return defineTool({
    name: 'search',
    label: 'search',
    description: `Search the contents of files. Gives \`path:line:text\`, at most ${MAX_LINES} lines. Leaves out .git, node_modules and binary files.`,
    parameters: Parameters,
    async execute(_toolCallId, { pattern, path = '.', glob, ignoreCase, literal }, signal) {
      if (!existsSync(resolve(cwd, path))) throw new Error(`There is no ${path}.`)
      const { exitCode, output, truncated } = await runProgram(
        [
          'grep',
          ...['-n', '-I', '-H', literal === true ? '-F' : '-E', ...(ignoreCase === true ? ['-i'] : [])],
          ...(statSync(resolve(cwd, path)).isDirectory()
            ? ['-r', '--exclude-dir=.git', '--exclude-dir=node_modules']
            : []),
          ...(glob === undefined ? [] : [`--include=${glob}`]),
          ...['-e', pattern, '--', path],
        ],
        { cwd, signal, timeoutMs: 30_000, maxBytes: MAX_BYTES },
      )
      if (exitCode > 1 && !truncated && output.trim() !== '') throw new Error(output.slice(0, 2000).trim())
      const lines = output.split('\n').filter(line => line !== '')
      if (lines.length === 0) return textResult('No matches.')
      const shown = lines
        .slice(0, MAX_LINES)
        .map(line => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line))
      const more =
        truncated || lines.length > MAX_LINES ? `\n[more than ${shown.length} lines; search more narrowly]` : ''
      return textResult(shown.join('\n').replaceAll(/^\.\//gm, '') + more)
    },
  })
}

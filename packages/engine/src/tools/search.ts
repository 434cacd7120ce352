import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import { anyQuoted, quotedNote, shownPath } from './files/shown-path.ts'
import { decodeFile, toWindows1252 } from './files/text-file.ts'
import { runProgram } from './run-program.ts'
import { type Command, grepCommand, ripgrepCommand } from './search-command.ts'
import { textResult } from './text-result.ts'

const MAX_LINES = 200
const MAX_LINE = 400
const MAX_BYTES = 256 * 1024
const lineEnd = Buffer.from('\n')

const Parameters = Type.Object({
  pattern: Type.String({ description: 'Extended regular expression, as grep -E takes it' }),
  path: Type.Optional(Type.String({ description: 'File or directory; by default the working directory' })),
  glob: Type.Optional(Type.String({ description: "Only files of this name, such as '*.ts'" })),
  ignoreCase: Type.Optional(Type.Boolean()),
  literal: Type.Optional(Type.Boolean({ description: 'The pattern is plain text' })),
})

interface Line<Text> {
  /** One character for each byte, as it need not be UTF-8. */
  readonly path: string
  readonly number: string
  readonly text: Text
}

/** Lines that were found; `full` if the program found more than it may give, `late` if it was ended before it was through. */
interface Found {
  readonly lines: readonly Line<Buffer>[]
  readonly full: boolean
  readonly late: boolean
}

/**
 * Returns a tool that searches files with the sandbox's ripgrep or grep, without .git, node_modules and binary files.
 *
 * In a UTF-8 locale grep takes a file with other bytes for binary. A second grep, of bytes, therefore looks for the
 * pattern in 8-bit text, and only its lines from such files count. Lines that were found before either was ended for its
 * time count all the same.
 */
export function search(cwd: string, timeoutMs = 30_000) {
  return defineTool({
    name: 'search',
    label: 'search',
    description: `Search the contents of files. Gives \`path:line:text\`, at most ${MAX_LINES} lines. Leaves out .git, node_modules and binary files, which UTF-16 is to it.`,
    parameters: Parameters,
    async execute(_toolCallId, { path = '.', ...given }, signal) {
      if (!existsSync(resolve(cwd, path))) throw new Error(`There is no ${path}.`)
      const query = { ...given, path }
      const { pattern } = query
      const searchFor = async (bytes: Buffer, locale: 'C.UTF-8' | 'C') => {
        const options = { cwd, signal, timeoutMs, locale, input: Buffer.concat([bytes, lineEnd]) }
        const ripgrep = ripgrepCommand(cwd, query, locale === 'C')
        // One that is too old for an option or a pattern fails.
        const found = ripgrep === null ? null : await run(ripgrep, options).catch(() => null)
        if (found === null) return run(grepCommand(cwd, query), options)
        // Grep gives no others in this locale.
        return locale === 'C' ? found : { ...found, lines: found.lines.filter(({ text }) => isUtf8(text)) }
      }
      const found = await searchFor(Buffer.from(pattern), 'C.UTF-8')
      const lines = found.lines.map(line => ({ ...line, text: line.text.toString('utf8') }))
      const bytes = found.full || found.late || lines.length > MAX_LINES ? null : eightBit(pattern)
      const others = bytes === null ? null : await searchFor(bytes, 'C')
      const more = others === null ? [] : await linesOfOthers(cwd, found, others)
      lines.push(...more)
      const isLate = found.late || others?.late === true
      const late = `not everything was searched within ${timeoutMs / 1000} seconds; search a narrower path`
      if (lines.length === 0 && isLate) throw new Error(`No matches so far: ${late}`)
      if (lines.length === 0) return textResult('No matches.')
      const kept = lines.slice(0, MAX_LINES)
      const shown = kept
        .map(({ path: file, number, text }) => `${shownPath(nameOf(file))}:${number}:${text}`)
        .map(line => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line))
      const notes = [
        ...(more.length > 0 ? ['[lines of files that are not UTF-8 stand last; read says how it shows them]'] : []),
        ...(found.full || others?.full === true || lines.length > MAX_LINES
          ? [`[more than ${shown.length} lines; search more narrowly]`]
          : []),
        ...(anyQuoted(kept.map(line => nameOf(line.path))) ? [quotedNote] : []),
        ...(isLate ? [`[${late}]`] : []),
      ]
      return textResult([...shown, ...notes].join('\n'))
    },
  })
}

async function run(
  command: Command,
  options: { cwd: string; signal: AbortSignal | undefined; input: Buffer; locale: string; timeoutMs: number },
): Promise<Found> {
  const { cwd, signal, input, locale, timeoutMs } = options
  const { exitCode, output, truncated, timedOut } = await runProgram(command, {
    ...{ cwd, signal, input, timeoutMs, maxBytes: MAX_BYTES },
    environment: { ...process.env, LC_ALL: locale },
  })
  const lines: Line<Buffer>[] = []
  for (let start = 0; start < output.length; ) {
    const found = output.indexOf(0x0a, start)
    const end = found === -1 ? output.length : found
    const line = output.subarray(start, end)
    const [nul, colon] = [line.indexOf(0), line.indexOf(':', line.indexOf(0) + 1)]
    const number = line.toString('latin1', nul + 1, Math.max(colon, nul + 1))
    if (nul !== -1 && /^\d+$/.test(number))
      lines.push({ path: line.toString('latin1', 0, nul), number, text: line.subarray(colon + 1) })
    start = end + 1
  }
  const message = output.toString('utf8').trim()
  if (exitCode > 1 && !truncated && !timedOut && lines.length === 0 && message !== '')
    throw new Error(message.slice(0, 2000))
  return { lines: lines.toSorted(byPath), full: truncated, late: timedOut }
}

/** Returns the pattern's bytes in 8-bit text; null if it has none. */
function eightBit(pattern: string): Buffer | null {
  try {
    return toWindows1252(pattern)
  } catch {
    return null
  }
}

/** Programs give files in orders of their own; lines of a file stay in theirs. */
function byPath({ path: one }: Line<Buffer>, { path: other }: Line<Buffer>): number {
  const [left, right] = [one.replaceAll('/', '\0'), other.replaceAll('/', '\0')]
  return left < right ? -1 : left > right ? 1 : 0
}

const nameOf = (path: string) => Buffer.from(path.replace(/^\.\//, ''), 'latin1')

async function linesOfOthers(cwd: string, found: Found, others: Found): Promise<Line<string>[]> {
  const directory = Buffer.from(cwd).toString('latin1')
  const known = new Set(found.lines.map(({ path, number }) => `${path}:${number}`))
  const lines: Line<string>[] = []
  for (const [path, ofFile] of Map.groupBy(others.lines, line => line.path)) {
    const file = await readFile(Buffer.from(resolve(directory, path), 'latin1')).then(decodeFile, () => null)
    if (file === null || file.encoding === 'UTF-8') continue
    const shown = new TextDecoder(file.encoding === 'Windows-1252' ? 'windows-1252' : 'utf-8', { ignoreBOM: true })
    for (const { number, text } of ofFile)
      if (!known.has(`${path}:${number}`)) lines.push({ path, number, text: shown.decode(text) })
  }
  return lines
}

import { statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { findExecutable } from './find-executable.ts'

/** What the model searches for. */
export interface Query {
  readonly pattern: string
  readonly path: string
  readonly glob?: string
  readonly ignoreCase?: boolean
  readonly literal?: boolean
}

export type Command = readonly [string, ...string[]]

const unlisted = ['.git', 'node_modules']

/** Returns the grep that searches, without its pattern. */
export const grepCommand = (cwd: string, { path, glob, ignoreCase, literal }: Query): Command => [
  ...(['grep', '-n', '-I', '-H', '--null', literal === true ? '-F' : '-E'] as const),
  ...(ignoreCase === true ? ['-i'] : []),
  ...(isDirectory(cwd, path) ? ['-r', ...unlisted.map(name => `--exclude-dir=${name}`)] : []),
  ...(glob === undefined ? [] : [`--include=${glob}`]),
  ...['-f', '-', '--', path],
]

/**
 * Returns the ripgrep that finds what grep does, several times as fast; null if the sandbox has none, or if the two take
 * the query differently.
 * @param ofBytes whether a file is bytes, as in grep's locale `C`
 */
export function ripgrepCommand(cwd: string, query: Query, ofBytes: boolean): Command | null {
  const { pattern, path, glob, ignoreCase, literal } = query
  const program = findExecutable('rg')
  const isSame =
    isDirectory(cwd, path) &&
    !unlisted.includes(basename(resolve(cwd, path))) &&
    (glob === undefined || /^(?!.*\*\*)[\w.*?-]+$/.test(glob)) &&
    (literal === true || common.test(pattern)) &&
    (!ofBytes || isAscii.test(pattern))
  if (program === undefined || !isSame) return null
  return [
    ...([program, '--no-config', '-n', '-H', '--null', '--no-heading', '--color', 'never', '--sort', 'path'] as const),
    ...['--hidden', '--no-ignore', '--encoding', 'none'],
    ...(ofBytes ? ['--no-unicode'] : []),
    ...(literal === true ? ['-F'] : []),
    ...(ignoreCase === true ? ['-i'] : []),
    ...[...(glob === undefined ? [] : [glob]), ...unlisted.map(name => `!${name}/`)].flatMap(each => ['-g', each]),
    ...['-f', '-', '--', path],
  ]
}

const isDirectory = (cwd: string, path: string) => statSync(resolve(cwd, path)).isDirectory()

const isAscii = /^[\0-\x7f]*$/

/**
 * Patterns that mean the same as an extended regular expression and to ripgrep. A quantifier after another, as in `a+?`,
 * a backslash in brackets and a brace that bounds nothing do not.
 */
const bracket = String.raw`\[\^?(?:[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d|[\w .,:;<>=!@#%/"'+*(){}|?$])+-?\]`
const atom = String.raw`[^\\[\](){}*+?|^$]|\\[.()[\]{}*+?|^$\\/"bBwWsS-]|\)|${bracket}`
const quantified = String.raw`(?:${atom})(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})?(?![*+?{])`
const common = new RegExp(`^(?:${quantified}|[(|^$](?![*+?{]))*$`, 'u')

import { parse } from 'shell-quote'
import { buildProgram } from '../../packages/cli/src/program.ts'
import { noHost } from '../docs/cli-page.ts'

type Command = ReturnType<typeof buildProgram>
type Argument = Command['registeredArguments'][number]

/**
 * Returns what the command line would refuse of a command as a page writes it: a command, an option or an argument that it does
 * not have, or one that it needs. It runs nothing. `<name>`, variables and substitutions stand for a word.
 */
export function berthFaults(line: string): readonly string[] {
  const { command, operands, unknown } = resolve(buildProgram(noHost), tokensOf(line))
  const options = unknown.filter(token => token.startsWith('-') && token !== '--' && token !== '--help')
  const faults = options.map(option => `has no option ${option}`)
  if (unknown.includes('--help')) return faults
  if (command.commands.length > 0) return [...faults, ...operands.map(text => `has no command ${text}`)]
  const takes: readonly Argument[] = command.registeredArguments
  const spare = takes.some(({ variadic }) => variadic) ? [] : operands.slice(takes.length)
  const missing = takes.filter(({ required }) => required).slice(operands.length)
  return [...faults, ...spare.map(text => `takes no ${text}`), ...missing.map(argument => `needs ${argument.name()}`)]
}

/** Returns the words after `berth`, up to what is another command's or the shell's. */
function tokensOf(line: string): readonly string[] {
  const plain = line
    .replaceAll(/<([\w-]+)>/g, '1')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/"\$\([^)]*\)"/g, 'substituted')
    .replaceAll(/"?\$\{?\w+\}?"?/g, 'variable')
  const tokens = parse(plain)
  const end = tokens.findIndex(token => typeof token !== 'string')
  const [, ...args] = end < 0 ? tokens : tokens.slice(0, end)
  return args.filter(token => typeof token === 'string')
}

interface Called {
  readonly command: Command
  readonly operands: readonly string[]
  readonly unknown: readonly string[]
}

/** Finds the command that words call, with the words and the options that are left for it. */
function resolve(command: Command, args: readonly string[]): Called {
  const { operands, unknown } = command.parseOptions([...args])
  const [name, ...rest] = operands
  const next = command.commands.find(each => each.name() === name)
  return next === undefined ? { command, operands, unknown } : resolve(next, [...rest, ...unknown])
}

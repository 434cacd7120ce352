import type { Command } from 'commander'

/** A word or an option that can follow, with its description. */
export interface Candidate {
  readonly text: string
  readonly does: string
}

/** A command as completions know it. */
export interface CommandNode {
  /** Its words after `berth`, such as `env secrets set`; empty for `berth` itself. */
  readonly path: string
  readonly children: readonly Candidate[]
  readonly options: readonly Candidate[]
  /** The values of options that take one of a few. */
  readonly choices: readonly { readonly option: string; readonly values: readonly string[] }[]
  /** Options that take a value. */
  readonly valued: readonly string[]
}

/** Returns every command of a program, the program itself first. */
export function commandTree(program: Command): CommandNode[] {
  return nodesOf(program, '')
}

function nodesOf(command: Command, path: string): CommandNode[] {
  const help = command.createHelp()
  const children = help.visibleCommands(command).filter(each => each.name() !== 'help')
  const known = [...help.visibleOptions(command), ...(path === '' ? [] : help.visibleGlobalOptions(command))]
  // The commands of the program as a whole are found by asking its own help for global options.
  const globals = path === '' ? [] : (rootOf(command).options ?? [])
  const options = [...new Set([...known, ...globals])].filter(({ long }) => long !== undefined && long !== null)
  const node: CommandNode = {
    path,
    children: children.map(each => ({ text: each.name(), does: each.description() })),
    options: options.map(({ long, description }) => ({ text: long ?? '', does: description })),
    choices: options.flatMap(({ long, argChoices }) =>
      argChoices === undefined || long === undefined ? [] : [{ option: long ?? '', values: argChoices }],
    ),
    valued: options.filter(({ required }) => required).map(({ long }) => long ?? ''),
  }
  return [node, ...children.flatMap(each => nodesOf(each, `${path} ${each.name()}`.trim()))]
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent)
}

import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import { count, dollars } from '../option-values.ts'
import type { ProgramHost } from '../program.ts'
import { deriveResource } from './derive-resource.ts'
import { organizationGroups, organizationResources } from './organization-resources.ts'
import { oversightGroups, oversightResources } from './oversight-resources.ts'
import type { ResourceCommand, ResourceOption } from './resource.ts'
import { triggerGroups, triggerResources } from './trigger-resources.ts'
import { workGroups, workResources } from './work-resources.ts'

export const groups = [...workGroups, ...triggerGroups, ...organizationGroups, ...oversightGroups]
export const resources = Object.entries({
  ...workResources,
  ...triggerResources,
  ...organizationResources,
  ...oversightResources,
}).map(([path, row]) => deriveResource(path, row))

/** Adds the commands that call one operation each, below the words that they begin with. */
export function addResources(program: Command, host: ProgramHost): void {
  for (const { name, does } of groups) program.command(name).description(does)
  for (const resource of resources) {
    const [first = '', verb = ''] = resource.path.split(' ')
    const parent = program.commands.find(command => command.name() === first)
    if (parent === undefined) throw new Error(`no command ${first} for ${resource.path}`)
    parent.addCommand(commandOf(resource, verb, host).copyInheritedSettings(parent))
  }
}

function commandOf(resource: ResourceCommand, verb: string, host: ProgramHost): Command {
  const { view, args, options } = resource
  const command = new Command(verb).description(resource.does)
  for (const { shown, does } of args) command.addArgument(new Argument(shown, does))
  for (const option of options) command.addOption(optionOf(option))
  if (view.kind === 'list') command.option('-n, --limit <count>', 'list at most this many', count, 50)
  if (view.kind === 'bytes') command.option('-o, --output <path>', 'write to this file')
  else command.option('--json', view.kind === 'list' ? 'print JSON, one item per line' : 'print JSON')
  const lines = resource.examples.map(rest => `  berth ${resource.path} ${rest}`.trimEnd())
  command.addHelpText('after', `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.join('\n')}\n`)
  return command.action(async (...given: unknown[]) => {
    const { callResource } = await import('./call-resource.ts')
    const values = given.slice(0, args.length)
    await host.withService(command.optsWithGlobals(), io => callResource(resource, values, command.opts(), io))
  })
}

function optionOf({ flags, does, required, choices, standard, as }: ResourceOption): Option {
  const option = new Option(flags, does)
  if (required === true) option.makeOptionMandatory()
  if (choices !== undefined) option.choices([...choices])
  if (standard !== undefined) option.default(standard)
  if (as === 'usd' || as === 'budget') option.argParser(dollars)
  if (as === 'count') option.argParser(count)
  if (as === 'seconds') option.argParser(seconds)
  if (as === 'list') option.argParser(listOf(choices))
  return option
}

function seconds(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a number of seconds.')
  return Number(text)
}

/** Collects an option that may be repeated; Commander checks choices only of one that may not. */
function listOf(choices: readonly string[] | undefined) {
  return (one: string, all: readonly string[] = []): readonly string[] => {
    if (choices !== undefined && !choices.includes(one)) {
      throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`)
    }
    return [...all, one]
  }
}

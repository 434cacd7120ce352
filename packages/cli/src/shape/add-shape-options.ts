import { type Command, InvalidArgumentError } from 'commander'

/** Words whose commands read the service's settings; they print their JSON whole. */
const operators: ReadonlySet<string> = new Set(['admin', 'hosts'])

/** Lets every command that prints JSON cut it: `--fields` names members, and means `--json` as well. */
export function addShapeOptions(program: Command, use: (fields: readonly string[] | null) => void): void {
  for (const command of program.commands) {
    if (!operators.has(command.name())) extend(command)
  }
  program.hook('preAction', (_, action) => {
    const { fields = null } = action.opts<{ fields?: readonly string[] }>()
    if (fields !== null) action.setOptionValue('json', true)
    use(fields)
  })
}

/**
 * Spells `--json=id,title` as `--fields id,title`. `--json` alone takes no value, so the argument that follows it stays one.
 */
export const withFieldsApart = (args: readonly string[]): string[] => {
  const end = args.indexOf('--')
  return args.flatMap((arg, at) =>
    arg.startsWith('--json=') && (end === -1 || at < end) ? ['--fields', arg.slice('--json='.length)] : [arg],
  )
}

function extend(command: Command): void {
  for (const below of command.commands) extend(below)
  if (!command.options.some(({ long }) => long === '--json')) return
  command.option(
    '--fields <names>',
    'print JSON with these members alone, as id,title (also --json=id,title)',
    readNames,
  )
}

function readNames(text: string): readonly string[] {
  const names = text.split(',').map(name => name.trim())
  const wrong = names.find(name => !/^[A-Za-z]\w*(\.\w+)*$/.test(name))
  if (wrong === undefined) return names
  throw new InvalidArgumentError(`${JSON.stringify(wrong)} is no name of a member; separate names by commas.`)
}

import { exitCode } from '../../packages/cli/src/exit-code.ts'
import { textAfterHelp } from '../../packages/cli/src/help/text-after-help.ts'
import { buildProgram, type ProgramHost } from '../../packages/cli/src/program.ts'

type Command = ReturnType<typeof buildProgram>
type Option = Command['options'][number]

const introduction = `# Commands of berth

<!-- Made by \`node script/docs.ts\`; do not edit. -->

For people who look up a command. [Work from a terminal](cli.md) describes those that hold a connection, and \`berth <command> --help\`
shows the same as this page.

## Output

Lists stand in columns below a header in a terminal. In a pipe, each line is a row with its cells between tabs, without a header. Colours
come only to a terminal, and not if \`NO_COLOR\` is set or \`TERM\` is \`dumb\`.

\`--json\` prints JSON, one value a line. \`--fields id,title\` (also \`--json=id,title\`) prints those members alone; a dot leads into a
member, as in \`workspace.state\`, and it means \`--json\` as well. [jq](https://jqlang.org) takes the JSON apart further.

## Exit codes

| code | meaning |
|---|---|
`

const meanings: Readonly<Record<keyof typeof exitCode, string>> = {
  completed: 'done; a Run that was followed has completed',
  failed:
    'the service refused or could not be reached, a Run that was followed has failed, or `berth doctor` found a failure',
  usage: 'the command line or its environment is wrong; the message says what to give',
  signInRequired: "the person's sign-in has ended: `berth login`",
  cancelled: 'a Run that was followed was cancelled',
  outputClosed: 'whoever read the output closed it',
}

/** A host whose commands cannot be called. */
export const noHost: ProgramHost = {
  ...{ serve: refuse, holdSandboxes: refuse, endSandboxes: refuse, installRuntime: refuse, cutTo: () => {} },
  ...{ withService: refuse, withoutService: refuse, withSignIns: refuse },
}

function refuse(): Promise<never> {
  throw new Error('no command is called for the page')
}

/** Returns the page of every command, made from the command table. */
export function renderCommands(): string {
  const program = buildProgram(noHost)
  const codes = Object.entries(exitCode).map(
    ([name, code]) => `| ${code} | ${meanings[name as keyof typeof exitCode]} |`,
  )
  const shared = `\n## Options of every command\n\n${optionTable(program.options)}`
  const sections = program.commands.map(
    command => `\n## ${command.name()}\n${section(command, `berth ${command.name()}`, 3)}`,
  )
  return `${introduction}${codes.join('\n')}\n${shared}${sections.join('')}`
}

function section(command: Command, path: string, level: number): string {
  const below = command.commands.map(
    each =>
      `\n${'#'.repeat(level)} ${path.slice(6)} ${each.name()}\n${section(each, `${path} ${each.name()}`, level + 1)}`,
  )
  const description = `\n${capital(escaped(command.description()))}.\n`
  if (command.commands.length > 0) return `${description}${below.join('')}`
  const usage = [
    'options',
    ...command.registeredArguments.map(argument =>
      argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
    ),
  ]
  const line = `\n\`\`\`\n${path} ${usage.slice(1).join(' ')}`.trimEnd()
  const options = command.options.length === 0 ? '' : `\n${optionTable(command.options)}`
  return `${description}${line}\n\`\`\`\n${options}${examplesOf(command)}`
}

function optionTable(options: readonly Option[]): string {
  const rows = options.map(({ flags, description, argChoices, defaultValue }) => {
    const more = [
      ...(argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`]),
      ...(defaultValue === undefined || Array.isArray(defaultValue) ? [] : [`default: ${String(defaultValue)}`]),
    ]
    return `| \`${flags}\` | ${escaped([description, ...more].join('; '))} |\n`
  })
  return `| option | does |\n|---|---|\n${rows.join('')}`
}

/** Returns the text that a command's help shows after its options. */
function examplesOf(command: Command): string {
  const text = textAfterHelp(command)
  return text === '' ? '' : `\n\`\`\`\n${text}\n\`\`\`\n`
}

const escaped = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

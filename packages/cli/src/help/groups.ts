import { type Command, Help, type Option } from 'commander'

/** The commands of `berth --help` by their purpose, the most used purposes first. */
export const groups: readonly (readonly [heading: string, names: readonly string[]])[] = [
  [
    'Work with agents:',
    [
      'run',
      'attach',
      'sessions',
      'events',
      'open',
      'interactions',
      'answer',
      'approve',
      'deny',
      'cancel',
      'fork',
      'reset',
    ],
  ],
  ['See what they do:', ['shell', 'preview', 'workspace', 'files', 'ports', 'artifacts', 'turns', 'runs', 'egress']],
  [
    'Review and deliver:',
    ['review', 'publish', 'merge', 'verify', 'pr', 'reviews', 'verifications', 'publications', 'merges'],
  ],
  ['Set up their work:', ['env', 'extension', 'runtimes', 'models', 'repositories']],
  ['Automate:', ['mcp', 'triggers', 'deliveries', 'webhooks']],
  ['You and this terminal:', ['login', 'logout', 'whoami', 'switch', 'sign-ins', 'completion']],
  [
    'Manage the organization:',
    [
      ...[
        'members',
        'invitations',
        'integrations',
        'keys',
        'apps',
        'app-keys',
        'installations',
        'connections',
        'grants',
      ],
      ...['budgets', 'policy', 'usage', 'audit', 'health', 'compute'],
    ],
  ],
  ['Run the service:', ['serve', 'host', 'down', 'doctor', 'admin', 'hosts']],
]

const rankOf = (heading: string): number => groups.findIndex(([known]) => known === heading)

/** Puts every command of `berth --help` under the heading of its purpose. */
export function addGroups(program: Command): void {
  const named = new Map(program.commands.map(command => [command.name(), command]))
  for (const [heading, names] of groups) for (const name of names) named.get(name)?.helpGroup(heading)
  // The command help has no other way to its heading.
  program.commandsGroup('You and this terminal:').helpCommand(true).configureHelp({ groupItems: inOrder })
}

/** Groups as Commander does; it would take the headings in the order in which the commands were defined. */
function inOrder<T extends Command | Option>(all: T[], visible: T[], headingOf: (item: T) => string): Map<string, T[]> {
  const found = new Help().groupItems(all, visible, headingOf)
  return new Map([...found].toSorted(([one], [other]) => rankOf(one) - rankOf(other)))
}

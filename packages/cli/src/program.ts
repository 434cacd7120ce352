import { efforts } from '@berth/client'
import { Argument, Command, Option } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { addAccount } from './account-program.ts'
import { addAdmin } from './admin-program.ts'
import type { AttachOptions } from './commands/attach.ts'
import type { EventsOptions } from './commands/events.ts'
import type { ForkOptions } from './commands/fork.ts'
import type { AnswerOptions, ApproveOptions } from './commands/interactions.ts'
import type { ReviewOptions } from './commands/review.ts'
import type { RunOptions } from './commands/run.ts'
import type { DownOptions, HostOptions } from './commands/serve.ts'
import type { SessionsOptions } from './commands/sessions.ts'
import type { ShellOptions } from './commands/shell.ts'
import type { Shell } from './completion/scripts.ts'
import type { ConnectionFlags } from './connection.ts'
import { addDeliveries } from './delivery-program.ts'
import { addEnvironments } from './environment-program.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { addExtensions } from './extension-program.ts'
import { addExamples } from './help/add-examples.ts'
import { addGroups } from './help/groups.ts'
import { addHosts } from './hosts-program.ts'
import type { CommandIo, LocalIo, SignInIo } from './io.ts'
import { addMachine } from './machine-program.ts'
import { count, dollars } from './option-values.ts'
import { addPublish, addPullRequests } from './pull-request-program.ts'
import { addResources } from './resources/add-resources.ts'
import { addShapeOptions } from './shape/add-shape-options.ts'
import { addWebhooks } from './webhooks-program.ts'
import { addWorkspaces } from './workspace-program.ts'

/** The process's functions that the command line calls. */
export interface ProgramHost {
  /** Runs the service; resolves when it has stopped. */
  serve(): Promise<void>
  /** Holds sandboxes of this machine for a service; resolves when it has stopped. */
  holdSandboxes(options: HostOptions): Promise<void>
  /** Ends every sandbox of a data directory of this machine. */
  endSandboxes(options: DownOptions): Promise<void>
  /** Installs an agent for the local service. */
  installRuntime(id: string): Promise<void>
  /** Runs a command with a client of the service that the flags name; it returns the exit code of the process. */
  withService(flags: ConnectionFlags, command: (io: CommandIo) => Promise<ExitCode | number>): Promise<void>
  /** Says to which members the JSON of the command is cut; null: it is printed whole. */
  cutTo(fields: readonly string[] | null): void
  /** Runs a command that asks no service. */
  withoutService(command: (io: LocalIo) => Promise<ExitCode>): Promise<void>
  /** Runs a command that changes this user's sign-ins. */
  withSignIns(command: (io: SignInIo) => Promise<ExitCode>): Promise<void>
}

/** Builds the command line. Each command loads its own code when it is called, so none slows down the others. */
export function buildProgram(host: ProgramHost): Command {
  const program = new Command('berth')
  program
    .description('Run coding agents in sandboxes.')
    .version(manifest.version)
    .option('--url <url>', "URL of the service (default: BERTH_URL, the profile's, or the local service's)")
    .option('--key <key>', 'API key (default: BERTH_API_KEY; prefer it, because other users can see command lines)')
    .option('--profile <name>', 'act as the person of this profile (default: BERTH_PROFILE, or else the current one)')
    .showHelpAfterError('(add --help to see the options)')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'berth: ')) })
    .exitOverride()
  addMachine(program, host)
  addAccount(program, host)
  addRun(program, host)
  addEvents(program, host)
  addSessions(program, host)
  addEnvironments(program, host)
  addExtensions(program, host)
  addOpen(program, host)
  addCancel(program, host)
  addReset(program, host)
  addFork(program, host)
  addAttach(program, host)
  addShell(program, host)
  addWorkspaces(program, host)
  addRuntimes(program, host)
  addInteractions(program, host)
  addMcp(program, host)
  addReview(program, host)
  addPublish(program, host)
  addDeliveries(program, host)
  addWebhooks(program, host)
  addAdmin(program)
  addHosts(program)
  addResources(program, host)
  addPullRequests(program, host)
  addCompletion(program, host)
  addShapeOptions(program, fields => host.cutTo(fields))
  addExamples(program)
  addGroups(program)
  return program
}

function addCompletion(program: Command, host: ProgramHost): void {
  program
    .command('completion')
    .description('print the script that completes berth in a shell')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: Shell) => {
      const [{ commandTree }, { completionScript }] = await Promise.all([
        import('./completion/command-tree.ts'),
        import('./completion/scripts.ts'),
      ])
      await host.withoutService(async ({ stdout }) => {
        await stdout.write(completionScript(shell, commandTree(program)))
        return exitCode.completed
      })
    })
}

function addRun(program: Command, host: ProgramHost): void {
  program
    .command('run')
    .description('send a message to an agent, in a new session unless --session names one')
    .argument('<message>', 'task for the agent; - reads it from standard input')
    .option('--session <id>', 'continue this session')
    .option('--title <title>', 'name of the new session')
    .option('--runtime <id>', 'agent runtime of the new session')
    .option('--model <id>', 'model of the new session')
    .addOption(
      new Option('--effort <effort>', "how hard the model may think (default: the model's own)").choices(efforts),
    )
    .option('--budget <dollars>', 'what the new session may spend on models, in US dollars; then it asks', dollars)
    .option('--repository <owner/name>', 'repository of the new session')
    .option('--base <branch>', "branch to start from (default: the repository's default branch)")
    .option('--branch <branch>', 'the same as --base')
    .option('--environment <name|id>', "environment of the new session; none: not even the organization's default")
    .option('--file <path>', 'attach a file; repeat for several', (path, all: string[]) => [...all, path], [])
    .option('--output-schema <path>', 'ask for a JSON result that satisfies the JSON Schema of this file')
    .option('--steer', 'give it to the agent at work, at its next step; needs --session')
    .option('--update-from-base', 'first merge the newest commits of its base into the workspace; needs --session')
    .option('-f, --follow', 'follow the run until it ends; Ctrl-C cancels it, a second Ctrl-C exits at once')
    .option('--json', 'print JSON: the events with --follow, otherwise the ids')
    .action(async (message: string, options: RunOptions, command: Command) => {
      const { run } = await import('./commands/run.ts')
      await host.withService(command.optsWithGlobals(), io => run(message, options, io))
    })
}

function addEvents(program: Command, host: ProgramHost): void {
  program
    .command('events')
    .description("print a session's events, one per line")
    .argument('<session>')
    .option('--after <sequence>', 'print only events after this sequence', count, 0)
    .option('-f, --follow', 'keep printing new events, and reconnect if the connection is lost')
    .option('--json', 'print the events as JSON')
    .action(async (sessionId: string, options: EventsOptions, command: Command) => {
      const { events } = await import('./commands/events.ts')
      await host.withService(command.optsWithGlobals(), io => events(sessionId, options, io))
    })
}

function addSessions(program: Command, host: ProgramHost): void {
  program
    .command('sessions')
    .description('list sessions, show one, change it or archive it')
    .command('list', { isDefault: true })
    .description('list sessions, most recently changed first; the word list may be left out')
    .option('-n, --limit <count>', 'list at most this many', count, 50)
    .option('--archived', 'include archived sessions')
    .option('--json', 'print JSON, one session per line')
    .action(async (options: SessionsOptions, command: Command) => {
      const { sessions } = await import('./commands/sessions.ts')
      await host.withService(command.optsWithGlobals(), io => sessions(options, io))
    })
}

function addOpen(program: Command, host: ProgramHost): void {
  program
    .command('open')
    .description("open a session's page in the browser; without a desktop, print its address")
    .argument('<session>')
    .action(async (sessionId: string, _options: object, command: Command) => {
      const { open } = await import('./commands/open.ts')
      await host.withService(command.optsWithGlobals(), io => open(sessionId, process.env, io))
    })
}

function addCancel(program: Command, host: ProgramHost): void {
  program
    .command('cancel')
    .description('ask a run to stop')
    .argument('<session>')
    .argument('[run]', 'default: the active run')
    .option('--json', 'print the run as JSON')
    .action(async (sessionId: string, runId: string | undefined, options: { json?: boolean }, command: Command) => {
      const { cancel } = await import('./commands/cancel.ts')
      await host.withService(command.optsWithGlobals(), io => cancel(sessionId, runId, options, io))
    })
}

function addReset(program: Command, host: ProgramHost): void {
  program
    .command('reset')
    .description('reset a session whose work is lost: its next turn starts in a fresh workspace; its log stays')
    .argument('<session>')
    .option('--json', 'print the session as JSON')
    .action(async (sessionId: string, options: { json?: boolean }, command: Command) => {
      const { reset } = await import('./commands/reset.ts')
      await host.withService(command.optsWithGlobals(), io => reset(sessionId, options, io))
    })
}

function addFork(program: Command, host: ProgramHost): void {
  program
    .command('fork')
    .description(
      'begin a new session where a run ended, with its workspace and conversation; the other one stays as it is',
    )
    .argument('<session>')
    .option('--run <id>', 'the run to begin after (default: the newest whose work is sealed)')
    .option('--title <title>', 'name of the new session')
    .option('--json', 'print the new session as JSON')
    .action(async (sessionId: string, options: ForkOptions, command: Command) => {
      const { fork } = await import('./commands/fork.ts')
      await host.withService(command.optsWithGlobals(), io => fork(sessionId, options, io))
    })
}

function addAttach(program: Command, host: ProgramHost): void {
  program
    .command('attach')
    .description('watch a session as it goes on, answer its agent and send the next message')
    .argument('[session]', 'absent: choose among the latest, those that wait for you first')
    .option('-n, --last <count>', 'begin with the last events, at most this many', count, 100)
    .option('--json', 'print the events as JSON, and ask nothing')
    .addHelpText(
      'after',
      `
In a terminal, type a message and press Enter; Alt-Enter begins a new line. Questions, plans and approvals are asked
there. Ctrl-C leaves; while a run goes on, it first asks whether to stop the run.

In a pipe, it prints the events until the active run has ended, with the exit code of berth run --follow, and names
on standard error the commands that answer.
`,
    )
    .action(async (sessionId: string | undefined, options: AttachOptions, command: Command) => {
      const { attach } = await import('./commands/attach.ts')
      await host.withService(command.optsWithGlobals(), io => attach(sessionId, options, io))
    })
}

function addShell(program: Command, host: ProgramHost): void {
  program
    .command('shell')
    .description("open a terminal in a session's sandbox, or run one command there")
    .argument('<session>')
    .argument('[command...]', 'after --: run this in place of the shell, and exit with its code')
    .option('--terminal <id>', 'return to this terminal')
    .option('--restore', 'first attach the workspace, if it has lapsed')
    .addHelpText(
      'after',
      `
It needs the sign-in of a person: berth login. At the start of a line, ~. leaves the terminal, which goes on, and
~~ types one ~. A broken connection is made again.

  berth shell <session>
  berth shell <session> -- npm test
  berth shell <session> -- 'cd docs && ls -la' > listing.txt
`,
    )
    .action(async (sessionId: string, typed: string[], options: ShellOptions, command: Command) => {
      const { shell } = await import('./commands/shell.ts')
      await host.withService(command.optsWithGlobals(), io => shell(sessionId, typed, options, io))
    })
}

function addRuntimes(program: Command, host: ProgramHost): void {
  const runtimes = program.command('runtimes').description('list and install the agents that sessions can use')
  runtimes
    .command('list')
    .description('list the agents, and why one is not available')
    .option('--json', 'print JSON, one runtime per line')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { listRuntimes } = await import('./commands/runtimes.ts')
      await host.withService(command.optsWithGlobals(), io => listRuntimes(options, io))
    })
  runtimes
    .command('install')
    .description('install an agent from the npm registry into BERTH_DATA_DIR, in the version that this release pins')
    .argument('<runtime>')
    .action((id: string) => host.installRuntime(id))
}

function addInteractions(program: Command, host: ProgramHost): void {
  program
    .command('egress')
    .description("list the hosts that a session's sandboxes reached or were refused, with the use of secrets")
    .argument('<session>')
    .option('--json', 'print JSON, one host per line')
    .action(async (sessionId: string, options: { json?: boolean }, command: Command) => {
      const { egress } = await import('./commands/egress.ts')
      await host.withService(command.optsWithGlobals(), io => egress(sessionId, options, io))
    })
  program
    .command('interactions')
    .description('list open questions, plans and approvals of a session, oldest first')
    .argument('<session>')
    .option('--json', 'print JSON, one interaction per line')
    .action(async (sessionId: string, options: { json?: boolean }, command: Command) => {
      const { interactions } = await import('./commands/interactions.ts')
      await host.withService(command.optsWithGlobals(), io => interactions(sessionId, options, io))
    })
  program
    .command('answer')
    .description('answer a question with an option, any text, or JSON by field; answer a plan with text, or approve')
    .argument('<session>')
    .argument('<text>')
    .option('--to <interaction>', 'interaction to answer (default: the only open one)')
    .option('--json', 'print the run as JSON')
    .action(async (sessionId: string, text: string, options: AnswerOptions, command: Command) => {
      const { answer } = await import('./commands/interactions.ts')
      await host.withService(command.optsWithGlobals(), io => answer(sessionId, text, options, io))
    })
  for (const verb of ['approve', 'deny'] as const) {
    const described = program
      .command(verb)
      .description(
        verb === 'approve'
          ? 'allow the action that an agent asks to take'
          : 'refuse the action that an agent asks to take',
      )
      .argument('<session>')
      .argument('[interaction]', 'default: the only open approval')
      .option('--json', 'print the outcome as JSON')
    if (verb === 'approve')
      described.option('--for <scope>', 'how long to allow it: once, turn, chat or project', 'once')
    described.action(async (sessionId: string, id: string | undefined, options: ApproveOptions, command: Command) => {
      const { decide } = await import('./commands/interactions.ts')
      await host.withService(command.optsWithGlobals(), io => decide(sessionId, id, verb, options, io))
    })
  }
}

function addMcp(program: Command, host: ProgramHost): void {
  program
    .command('mcp')
    .description('serve tools to an agent on standard input and output, by the Model Context Protocol')
    .addHelpText(
      'after',
      `
The agent starts it, from its own settings, for example:
  { "mcpServers": { "berth": { "command": "berth", "args": ["mcp"] } } }

Its tools start sessions, follow them, answer their agents, review changes and publish them, all with this credential.
An agent that speaks HTTP can use POST /v1/mcp of the service with the same credential as a bearer.
`,
    )
    .action(async (_options: object, command: Command) => {
      const { mcp } = await import('./commands/mcp.ts')
      await host.withService(command.optsWithGlobals(), mcp)
    })
}

function addReview(program: Command, host: ProgramHost): void {
  program
    .command('review')
    .description("show a session's changes as a revision that can be published")
    .argument('<session>')
    .option('-p, --patch', 'print the patch instead of the list of files; to a pipe or a file, as it is')
    .option('--restore', 'first attach the workspace, if it has lapsed')
    .option('--verify', "run the environment's checks on the revision in a fresh sandbox, and show how they went")
    .option('--json', 'print the review as JSON; with --verify the verification')
    .action(async (sessionId: string, options: ReviewOptions, command: Command) => {
      const { review } = await import('./commands/review.ts')
      await host.withService(command.optsWithGlobals(), io => review(sessionId, options, io))
    })
}

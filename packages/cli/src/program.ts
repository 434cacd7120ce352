import { Command, Option } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { addAdmin } from './admin-program.ts'
import type { EventsOptions } from './commands/events.ts'
import type { AnswerOptions, ApproveOptions } from './commands/interactions.ts'
import type { MergeOptions } from './commands/merge.ts'
import type { PublishOptions } from './commands/publish.ts'
import type { ReviewOptions } from './commands/review.ts'
import type { RunOptions } from './commands/run.ts'
import type { SessionsOptions } from './commands/sessions.ts'
import type { ConnectionFlags } from './connection.ts'
import type { ExitCode } from './exit-code.ts'
import type { CommandIo } from './io.ts'
import { count } from './option-values.ts'

/** What the command line needs from the process around it. */
export interface ProgramHost {
  /** Runs the service; returns when it has stopped. */
  serve(): Promise<void>
  /** Installs an agent beside the service. */
  installRuntime(id: string): Promise<void>
  /** Runs a command that talks to the service which the flags name. */
  withService(flags: ConnectionFlags, command: (io: CommandIo) => Promise<ExitCode>): Promise<void>
}

/** Describes every command. Each loads its own code when it is chosen, so that none pays for the others. */
export function buildProgram(host: ProgramHost): Command {
  const program = new Command('berth')
  program
    .description('Runs coding agents in sandboxes.')
    .version(manifest.version)
    .option('--url <url>', 'service to talk to (default: BERTH_URL, else the service of this directory)')
    .option('--key <key>', 'API key (default: BERTH_API_KEY, which other users of the machine cannot see)')
    .showHelpAfterError('(add --help for what is possible)')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'berth: ')) })
    .exitOverride()
  program
    .command('serve')
    .description('run the service')
    .action(() => host.serve())
  addRun(program, host)
  addEvents(program, host)
  addSessions(program, host)
  addCancel(program, host)
  addReset(program, host)
  addRuntimes(program, host)
  addInteractions(program, host)
  addReview(program, host)
  addPublish(program, host)
  addMerge(program, host)
  addAdmin(program)
  return program
}

function addRun(program: Command, host: ProgramHost): void {
  program
    .command('run')
    .description('send a message to an agent, in a new session unless --session names one')
    .argument('<message>', 'what the agent is to do; - reads standard input')
    .option('--session <id>', 'continue this session')
    .option('--title <title>', 'name of the new session')
    .option('--runtime <id>', 'agent runtime of the new session')
    .option('--model <id>', 'model of the new session')
    .option('--repository <owner/name>', 'repository of the new session')
    .option('--base <branch>', 'its branch to start from (default: the one that the host has as default)')
    .option('--file <path>', 'attach a file; may be given again', (path, all: string[]) => [...all, path], [])
    .option('-f, --follow', 'show the run until it ends; Ctrl-C cancels it, twice leaves it alone')
    .option('--json', 'print JSON: with --follow the events, else the ids')
    .action(async (message: string, options: RunOptions, command: Command) => {
      const { run } = await import('./commands/run.ts')
      await host.withService(command.optsWithGlobals(), io => run(message, options, io))
    })
}

function addEvents(program: Command, host: ProgramHost): void {
  program
    .command('events')
    .description("print a session's events, one a line")
    .argument('<session>')
    .option('--after <sequence>', 'start after this one', count, 0)
    .option('-f, --follow', 'go on with what comes, also across lost connections')
    .option('--json', 'print the events as JSON')
    .action(async (sessionId: string, options: EventsOptions, command: Command) => {
      const { events } = await import('./commands/events.ts')
      await host.withService(command.optsWithGlobals(), io => events(sessionId, options, io))
    })
}

function addSessions(program: Command, host: ProgramHost): void {
  program
    .command('sessions')
    .description('list sessions, the latest change first')
    .option('-n, --limit <count>', 'how many', count, 50)
    .option('--archived', 'also archived ones')
    .option('--json', 'print JSON, one session a line')
    .action(async (options: SessionsOptions, command: Command) => {
      const { sessions } = await import('./commands/sessions.ts')
      await host.withService(command.optsWithGlobals(), io => sessions(options, io))
    })
}

function addCancel(program: Command, host: ProgramHost): void {
  program
    .command('cancel')
    .description('ask a run to stop')
    .argument('<session>')
    .argument('[run]', 'default: the one under way')
    .option('--json', 'print the run as JSON')
    .action(async (sessionId: string, runId: string | undefined, options: { json?: boolean }, command: Command) => {
      const { cancel } = await import('./commands/cancel.ts')
      await host.withService(command.optsWithGlobals(), io => cancel(sessionId, runId, options, io))
    })
}

function addReset(program: Command, host: ProgramHost): void {
  program
    .command('reset')
    .description('begin a session afresh whose work is lost; its log stays')
    .argument('<session>')
    .option('--json', 'print the session as JSON')
    .action(async (sessionId: string, options: { json?: boolean }, command: Command) => {
      const { reset } = await import('./commands/reset.ts')
      await host.withService(command.optsWithGlobals(), io => reset(sessionId, options, io))
    })
}

function addRuntimes(program: Command, host: ProgramHost): void {
  const runtimes = program.command('runtimes').description('agents that sessions can name')
  runtimes
    .command('list')
    .description('list them, and what one that is not available lacks')
    .option('--json', 'print JSON, one runtime a line')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { listRuntimes } = await import('./commands/runtimes.ts')
      await host.withService(command.optsWithGlobals(), io => listRuntimes(options, io))
    })
  runtimes
    .command('install')
    .description('install one from the npm registry, as this release pins it, into BERTH_DATA_DIR')
    .argument('<runtime>')
    .action((id: string) => host.installRuntime(id))
}

function addInteractions(program: Command, host: ProgramHost): void {
  program
    .command('interactions')
    .description('list what an agent waits to be told, the oldest first')
    .argument('<session>')
    .option('--json', 'print JSON, one interaction a line')
    .action(async (sessionId: string, options: { json?: boolean }, command: Command) => {
      const { interactions } = await import('./commands/interactions.ts')
      await host.withService(command.optsWithGlobals(), io => interactions(sessionId, options, io))
    })
  program
    .command('answer')
    .description('answer a question or a plan: an option, any text, or JSON by field; approve leaves plan mode')
    .argument('<session>')
    .argument('<text>')
    .option('--to <interaction>', 'default: the one that is open')
    .option('--json', 'print the run as JSON')
    .action(async (sessionId: string, text: string, options: AnswerOptions, command: Command) => {
      const { answer } = await import('./commands/interactions.ts')
      await host.withService(command.optsWithGlobals(), io => answer(sessionId, text, options, io))
    })
  for (const verb of ['approve', 'deny'] as const) {
    const described = program
      .command(verb)
      .description(verb === 'approve' ? 'allow what an agent asks to do' : 'refuse what an agent asks to do')
      .argument('<session>')
      .argument('[interaction]', 'default: the one that is open')
      .option('--json', 'print the outcome as JSON')
    if (verb === 'approve') described.option('--for <scope>', 'once, turn or chat: how long it is remembered', 'once')
    described.action(async (sessionId: string, id: string | undefined, options: ApproveOptions, command: Command) => {
      const { decide } = await import('./commands/interactions.ts')
      await host.withService(command.optsWithGlobals(), io => decide(sessionId, id, verb, options, io))
    })
  }
}

function addReview(program: Command, host: ProgramHost): void {
  program
    .command('review')
    .description('show what a session has changed, as a revision to publish')
    .argument('<session>')
    .option('-p, --patch', 'print the patch')
    .option('--json', 'print the review as JSON')
    .action(async (sessionId: string, options: ReviewOptions, command: Command) => {
      const { review } = await import('./commands/review.ts')
      await host.withService(command.optsWithGlobals(), io => review(sessionId, options, io))
    })
}

function addPublish(program: Command, host: ProgramHost): void {
  program
    .command('publish')
    .description('deliver what a session has changed as a pull request')
    .argument('<session>')
    .requiredOption('--title <title>', 'title of the pull request and its commit')
    .option('--body <text>', 'what to say besides')
    .option('--branch <name>', 'head branch (default: svc/<session>)')
    .option('--revision <revision>', 'deliver this review (default: what is there now)')
    .option('--draft', 'open the pull request as a draft')
    .option('--direct', 'push to the branch that the session started from instead')
    .option('--json', 'print the publication as JSON')
    .action(async (sessionId: string, options: PublishOptions, command: Command) => {
      const { publish } = await import('./commands/publish.ts')
      await host.withService(command.optsWithGlobals(), io => publish(sessionId, options, io))
    })
}

function addMerge(program: Command, host: ProgramHost): void {
  program
    .command('merge')
    .description('merge a pull request of a session at the head that was published')
    .argument('<session>')
    .argument('[publication]', 'default: the last one')
    .addOption(new Option('--strategy <how>', 'how').choices(['merge', 'squash', 'rebase']).default('merge'))
    .option('--when-ready', 'wait until the host takes it')
    .option('--json', 'print the merge as JSON')
    .action(async (sessionId: string, publicationId: string | undefined, options: MergeOptions, command: Command) => {
      const { merge } = await import('./commands/merge.ts')
      await host.withService(command.optsWithGlobals(), io => merge(sessionId, publicationId, options, io))
    })
}

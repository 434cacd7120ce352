import { Command } from 'commander'
import type { PublishOptions } from './commands/publish.ts'
import type { PullOptions } from './commands/pull-requests.ts'
import { amount, count } from './option-values.ts'
import type { ProgramHost } from './program.ts'

/** Adds the command that publishes. */
export function addPublish(program: Command, host: ProgramHost): void {
  program
    .command('publish')
    .description("publish a session's changes as a pull request")
    .argument('<session>')
    .option('--title <title>', "title of the pull request and its commit (default: as the agent's last message begins)")
    .option('--body <text>', "description of both (default, without --title: the agent's last message)")
    .option('--branch <name>', 'head branch (default: svc/<session>)')
    .option('--base <branch>', 'refuse any other target than this; it is the branch that the session started from')
    .option('--revision <revision>', 'publish this reviewed revision (default: the changes as they are now)')
    .option('--draft', 'open the pull request as a draft')
    .option('--restore', 'first attach the workspace, if it has lapsed')
    .option(
      '--verified',
      "first run the environment's checks on it as `berth review --verify`; publish only if they pass",
    )
    .option('--follow', 'have the service carry the pull request on until it is merged: checks, reviews, conflicts')
    .option('--attempts <count>', 'with --follow: how many turns that may make, 1 to 20 (default: 5)', count)
    .option('--budget <dollars>', 'with --follow: what their models may cost, in US dollars', amount)
    .option('--days <count>', 'with --follow: how long, 1 to 30 (default: 7)', count)
    .option('--merge-when-ready', 'with --follow: merge it once the host allows that')
    .option('--direct', 'push to the branch that the session started from, without a pull request')
    .option(
      '--dry-run',
      'show what would be published, its signals and what its text claims in vain, and publish nothing',
    )
    .option('--json', 'print the publication as JSON, with all signals and claims that are not borne out')
    .action(async (sessionId: string, options: PublishOptions, command: Command) => {
      const { publish } = await import('./commands/publish.ts')
      await host.withService(command.optsWithGlobals(), io => publish(sessionId, options, io))
    })
}

/** Adds the commands on follow-ups beside `pr list`, which calls its operation alone. */
export function addPullRequests(program: Command, host: ProgramHost): void {
  const group = program.commands.find(command => command.name() === 'pr')
  const commandOf = (name: 'show' | 'stop' | 'retry', does: string) => {
    const command = new Command(name)
      .description(does)
      .argument('<session>')
      .argument('[publication]', 'default: the latest pull request')
      .option('--json', 'print the follow-up as JSON')
      .action(async (sessionId: string, publicationId: string | undefined, options: PullOptions, command: Command) => {
        const { showFollowUp, stopFollowUp, retryFollowUp } = await import('./commands/pull-requests.ts')
        const act = { show: showFollowUp, stop: stopFollowUp, retry: retryFollowUp }[name]
        await host.withService(command.optsWithGlobals(), io => act(sessionId, publicationId, options, io))
      })
    if (group !== undefined) group.addCommand(command.copyInheritedSettings(group))
    return command
  }
  commandOf('show', 'show how the follow-up of a pull request stands, and the turns that it made')
  commandOf('stop', 'stop following a pull request; a run that is at it goes on, and nothing of it is pushed')
  commandOf('retry', 'go on following a pull request that needs a person, or begin to')
    .option('--attempts <count>', 'how many turns that may make, 1 to 20', count)
    .option('--budget <dollars>', 'what their models may cost, in US dollars', amount)
    .option('--days <count>', 'how long from now on, 1 to 30 (default: 7)', count)
    .option('--merge-when-ready', 'merge it once the host allows that')
}

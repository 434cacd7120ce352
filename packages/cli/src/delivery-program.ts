import { type Command, Option } from 'commander'
import type { MergeOptions } from './commands/merge.ts'
import type { VerifyLogOptions } from './commands/verify-log.ts'
import type { VerifyOptions } from './commands/verify-statement.ts'
import type { ProgramHost } from './program.ts'

/** Adds the commands on what was published. */
export function addDeliveries(program: Command, host: ProgramHost): void {
  addMerge(program, host)
  addVerify(program, host)
}

function addMerge(program: Command, host: ProgramHost): void {
  program
    .command('merge')
    .description("merge a session's pull request at exactly the published commit")
    .argument('<session>')
    .argument('[publication]', 'default: the latest pull request')
    .addOption(
      new Option('--strategy <strategy>', 'how to merge').choices(['merge', 'squash', 'rebase']).default('merge'),
    )
    .option('--when-ready', 'wait until the host allows the merge')
    .option('--json', 'print the merge as JSON')
    .action(async (sessionId: string, publicationId: string | undefined, options: MergeOptions, command: Command) => {
      const { merge } = await import('./commands/merge.ts')
      await host.withService(command.optsWithGlobals(), io => merge(sessionId, publicationId, options, io))
    })
}

function addVerify(program: Command, host: ProgramHost): void {
  program
    .command('verify')
    .description('verify the signed statement on a commit that was published after its checks had passed')
    .argument(
      '[statement|commit]',
      'file of a statement, or a commit: the file beside it, or the service, has its statement',
    )
    .option('--keys <file>', 'verify with this copy of /.well-known/berth-keys.json (default: the keys of the service)')
    .option('--commit <commit>', 'with a file: the commit that it has to be on')
    .option('--log <session>', 'verify the log of this session, against what a statement says of it if one is named')
    .option('--digest <sequence:sha256>', 'with --log: a digest of the log that was kept')
    .option('--json', 'print the verdict and the statement as JSON')
    .addHelpText(
      'after',
      `
With a file and --keys it asks nobody. A commit of the present repository may have any name that git knows, and its tree
is compared, too. --log reads all events of the session and makes their chain of digests anew. The exit code is 0 if the statement holds, 1 if it does not, and 2 if there is nothing to verify.
`,
    )
    .action(async (named: string | undefined, options: VerifyOptions & Partial<VerifyLogOptions>, command: Command) => {
      const { log } = options
      if (log !== undefined) {
        const { verifyLogOf } = await import('./commands/verify-log.ts')
        await host.withService(command.optsWithGlobals(), io => verifyLogOf(named, { ...options, log }, io))
        return
      }
      if (named === undefined) command.error('error: name a statement or a commit, or a session with --log')
      const { readNamed, verifyNamed } = await import('./commands/verify-statement.ts')
      const found = await readNamed(named, options)
      if (found.file !== null && options.keys !== undefined) {
        await host.withoutService(io => verifyNamed(found, options, io))
      } else {
        await host.withService(command.optsWithGlobals(), io => verifyNamed(found, options, io))
      }
    })
}

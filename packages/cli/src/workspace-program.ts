import type { Command } from 'commander'
import type { WorkspaceOptions } from './commands/workspace.ts'
import type { ProgramHost } from './program.ts'

/** Adds the commands on workspaces. */
export function addWorkspaces(program: Command, host: ProgramHost): void {
  const workspace = program
    .command('workspace')
    .description('attach the workspace of a session without a turn, or give it back')
  workspace
    .command('restore')
    .description('attach the workspace, restored from its last checkpoint; the environment is applied to a fresh one')
    .argument('<session>')
    .option('--json', 'print the session as JSON')
    .action(async (sessionId: string, options: WorkspaceOptions, command: Command) => {
      const { restoreWorkspace } = await import('./commands/workspace.ts')
      await host.withService(command.optsWithGlobals(), io => restoreWorkspace(sessionId, options, io))
    })
  workspace
    .command('release')
    .description('give the workspace of an idle session back; the next turn gets a fresh one, with its work restored')
    .argument('<session>')
    .option('--json', 'print the session as JSON')
    .addHelpText(
      'after',
      `
Use it to have the newest revision of the environment applied:
  berth env apply && berth workspace release <session>
`,
    )
    .action(async (sessionId: string, options: WorkspaceOptions, command: Command) => {
      const { releaseWorkspace } = await import('./commands/workspace.ts')
      await host.withService(command.optsWithGlobals(), io => releaseWorkspace(sessionId, options, io))
    })
}

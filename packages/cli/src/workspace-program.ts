import type { Command } from 'commander'
import type { PreviewOptions } from './commands/preview.ts'
import type { WorkspaceOptions } from './commands/workspace.ts'
import { count } from './option-values.ts'
import type { ProgramHost } from './program.ts'

/** Adds the commands on workspaces. */
export function addWorkspaces(program: Command, host: ProgramHost): void {
  program
    .command('preview')
    .description("keep an idle session's sandbox running, with its environment's preview, and open what it serves")
    .argument('<session>')
    .option('--minutes <n>', 'for so long; again, it is extended', count, 15)
    .option('--end', 'end it, and let the sandbox rest')
    .option('--json', 'print the ports, the preview and the address as JSON')
    .action(async (sessionId: string, options: PreviewOptions, command: Command) => {
      const { preview } = await import('./commands/preview.ts')
      await host.withService(command.optsWithGlobals(), io => preview(sessionId, options, process.env, io))
    })
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

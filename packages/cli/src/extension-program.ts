import type { Command } from 'commander'
import type { PackOptions } from './extensions/pack.ts'
import type { UploadOptions } from './extensions/upload.ts'
import type { ProgramHost } from './program.ts'

/** Adds the commands on extensions. */
export function addExtensions(program: Command, host: ProgramHost): void {
  const extension = program
    .command('extension')
    .description('pack and upload extensions: skills, commands and MCP servers for the agents of an environment')
    .addHelpText(
      'after',
      `
Examples:
  berth extension pack ./my-plugin
  berth extension upload my-plugin-1.0.0.zip --environment web
  berth extension list                                 what the operator offers
`,
    )
  extension
    .command('pack')
    .description(
      'pack a directory with an extension.json, or a plugin of Agent Plugins, Claude Code, Codex or Gemini CLI',
    )
    .argument('<directory>')
    .option('-o, --output <path>', 'the archive (default: <id>-<version>.zip)')
    .option('--json', 'print the outcome as JSON')
    .action(async (directory: string, options: PackOptions) => {
      const { pack } = await import('./extensions/pack.ts')
      await host.withoutService(io => pack(directory, options, io))
    })
  extension
    .command('upload')
    .description('upload an archive to an environment, and print the entry for its document')
    .argument('<archive>')
    .option('-e, --environment <name|id>', 'environment (default: that of the file)')
    .option('--file <path>', 'the file', 'berth.env.json')
    .option('--json', 'print the outcome as JSON')
    .action(async (archive: string, options: UploadOptions, command: Command) => {
      const { upload } = await import('./extensions/upload.ts')
      await host.withService(command.optsWithGlobals(), io => upload(archive, options, io))
    })
  extension
    .command('list')
    .description('list the extensions that a document may name by a slug')
    .option('--json', 'print JSON, one extension per line')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { listExtensions } = await import('./extensions/list.ts')
      await host.withService(command.optsWithGlobals(), io => listExtensions(options, io))
    })
}

import type { Command } from 'commander'
import type { ListenOptions } from './commands/listen.ts'
import type { ProgramHost } from './program.ts'
import { allFamilies, readFamilies } from './webhooks/families.ts'

/** Adds the commands that concern webhooks. */
export function addWebhooks(program: Command, host: ProgramHost): void {
  const webhooks = program.command('webhooks').description('try webhooks on this machine')
  webhooks
    .command('listen')
    .description('forward signed events of your sessions to a URL, from now on; Ctrl-C ends it')
    .requiredOption('--forward-to <url>', 'where to post them, for example http://127.0.0.1:3000/hooks')
    .option('--families <names>', 'families to forward, separated by commas', readFamilies, allFamilies)
    .option('--json', 'print JSON, one attempt per line')
    .addHelpText(
      'after',
      '\nExample:\n  berth webhooks listen --forward-to http://127.0.0.1:3000/hooks --families run,interaction',
    )
    .action(async (options: ListenOptions, command: Command) => {
      const { listen } = await import('./commands/listen.ts')
      await host.withService(command.optsWithGlobals(), io => listen(options, io))
    })
}

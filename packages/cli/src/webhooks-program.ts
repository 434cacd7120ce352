import { type Command, Option } from 'commander'
import type { ListenOptions } from './commands/listen.ts'
import type { DeliveriesOptions, ReplayOptions } from './commands/webhook-deliveries.ts'
import type { EndpointOptions } from './commands/webhooks.ts'
import { count } from './option-values.ts'
import type { ProgramHost } from './program.ts'

const families = ['--families <names>', 'families of events, separated by commas (default: all)'] as const

/** Adds the commands that concern webhooks. */
export function addWebhooks(program: Command, host: ProgramHost): void {
  const webhooks = program
    .command('webhooks')
    .description("manage the webhook endpoints of an app's installations, and try webhooks on this machine")
    .addHelpText(
      'after',
      `
All but listen act as a person with organization.applications.manage in the app's organization: sign in with berth login.

Examples:
  berth webhooks add https://hooks.example.com/berth --app my-app --installation $ID --families run,interaction
  berth webhooks deliveries $ENDPOINT --app my-app --installation $ID --status failed
  berth webhooks listen --forward-to http://127.0.0.1:3000/hooks
`,
    )
  addListen(webhooks, host)
  addEndpoints(webhooks, host)
  addDeliveries(webhooks, host)
}

function addListen(webhooks: Command, host: ProgramHost): void {
  webhooks
    .command('listen')
    .description('forward signed events of your sessions to a URL, from now on; Ctrl-C ends it')
    .requiredOption('--forward-to <url>', 'where to post them, for example http://127.0.0.1:3000/hooks')
    .option(...families)
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

/** Adds a command on the endpoints of one installation; the example is the part after its name. */
function endpointCommand(webhooks: Command, name: string, example: string): Command {
  return webhooks
    .command(name)
    .requiredOption('--app <slug>', 'the app')
    .requiredOption('--installation <id>', 'its installation')
    .addHelpText('after', `\nExample:\n  berth webhooks ${name} ${example}--app my-app --installation $ID`)
}

function addEndpoints(webhooks: Command, host: ProgramHost): void {
  const commands = () => import('./commands/webhooks.ts')
  endpointCommand(webhooks, 'list', '')
    .description('list the endpoints of an installation')
    .option('--json', 'print JSON, one endpoint per line')
    .action(async (options: EndpointOptions, command: Command) => {
      const { list } = await commands()
      await host.withService(command.optsWithGlobals(), io => list(options, io))
    })
  endpointCommand(webhooks, 'add', 'https://hooks.example.com/berth --families run,interaction ')
    .description('register an endpoint, and print its secret this once')
    .argument('<url>', 'where the service posts the events')
    .option(...families)
    .option('--json', 'print the endpoint and its secret as JSON')
    .action(async (url: string, options: EndpointOptions & { families?: string }, command: Command) => {
      const { add } = await commands()
      await host.withService(command.optsWithGlobals(), io => add(url, options, io))
    })
  endpointCommand(webhooks, 'remove', '$ENDPOINT ')
    .description('delete an endpoint, which ends its deliveries')
    .argument('<endpoint>')
    .option('--json', 'print its id as JSON')
    .action(async (endpoint: string, options: EndpointOptions, command: Command) => {
      const { remove } = await commands()
      await host.withService(command.optsWithGlobals(), io => remove(endpoint, options, io))
    })
}

function addDeliveries(webhooks: Command, host: ProgramHost): void {
  const commands = () => import('./commands/webhook-deliveries.ts')
  endpointCommand(webhooks, 'deliveries', '$ENDPOINT --status failed ')
    .description('list the deliveries of an endpoint, newest first, with their attempts')
    .argument('<endpoint>')
    .addOption(new Option('--status <status>', 'list only these').choices(['pending', 'succeeded', 'failed']))
    .option('-n, --limit <count>', 'list at most this many', count, 50)
    .option('--json', 'print JSON, one delivery per line')
    .action(async (endpoint: string, options: DeliveriesOptions, command: Command) => {
      const { deliveries } = await commands()
      await host.withService(command.optsWithGlobals(), io => deliveries(endpoint, options, io))
    })
  endpointCommand(webhooks, 'redeliver', '$ENDPOINT $DELIVERY ')
    .description('give a delivery six new attempts, the first at once')
    .argument('<endpoint>')
    .argument('<delivery>')
    .option('--json', 'print the delivery as JSON')
    .action(async (endpoint: string, delivery: string, options: EndpointOptions, command: Command) => {
      const { redeliver } = await commands()
      await host.withService(command.optsWithGlobals(), io => redeliver(endpoint, delivery, options, io))
    })
  endpointCommand(webhooks, 'replay', '$ENDPOINT --session $SESSION --after 17 ')
    .description("send a session's events again, also those from before the endpoint was registered")
    .argument('<endpoint>')
    .requiredOption('--session <id>', 'a session of the installation')
    .option('--after <sequence>', 'send only events after this sequence', count, 0)
    .option('--json', 'print the number of events as JSON')
    .action(async (endpoint: string, options: ReplayOptions, command: Command) => {
      const { replay } = await commands()
      await host.withService(command.optsWithGlobals(), io => replay(endpoint, options, io))
    })
  endpointCommand(webhooks, 'ping', '$ENDPOINT ')
    .description('send a signed svc.webhook.ping, which is in no log')
    .argument('<endpoint>')
    .option('--json', 'print the delivery as JSON')
    .action(async (endpoint: string, options: EndpointOptions, command: Command) => {
      const { ping } = await commands()
      await host.withService(command.optsWithGlobals(), io => ping(endpoint, options, io))
    })
}

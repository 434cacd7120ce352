import type { Command } from 'commander'
import type { TokenOptions } from './commands/hosts.ts'
import type { AdminIo } from './io.ts'

const io: AdminIo = { env: process.env, print: line => void process.stdout.write(`${line}\n`) }

const marks = {
  cordon: { mark: 'cordoned', does: 'give a host no more sandboxes; those that it has go on' },
  drain: { mark: 'drained', does: 'give a host no more sandboxes, and take back those that rest' },
  uncordon: { mark: 'open', does: 'give a host sandboxes again, after cordon, drain or failures' },
} as const

/** Adds the operators' commands on hosts; they run on the service's machine, with its settings. */
export function addHosts(program: Command): void {
  const hosts = program
    .command('hosts')
    .description(
      "manage the machines that hold sandboxes; run it on the service's machine, with the service's settings",
    )
  hosts
    .command('token')
    .description('admit a machine that dials in with `berth host`; prints its token, which is shown once')
    .argument('<name>', 'name of the machine, for people')
    .option('--organization <id>', 'for the sandboxes of this organization alone (default: of every one)')
    .option('--pool <name>', 'pool of the machine (default: default)')
    .option('--capacity <count>', 'sandboxes that the machine may offer at most (default: as many as it says)')
    .option(
      '--label <name=value>',
      'label of the machine, whatever it says; repeat it for more',
      (one, all: string[] = []) => [...all, one],
    )
    .option('--json', 'print JSON')
    .action(async (name: string, options: TokenOptions) => {
      const { admitHost } = await import('./commands/hosts.ts')
      await admitHost(name, options, io)
    })
  hosts
    .command('list')
    .description('list hosts: state, live sandboxes of capacity, id, name, pool, driver, organization')
    .option('--json', 'print JSON, one host per line')
    .action(async (options: { json?: boolean }) => {
      const { listHosts } = await import('./commands/hosts.ts')
      await listHosts(options, io)
    })
  for (const [name, { mark, does }] of Object.entries(marks)) {
    hosts
      .command(name)
      .description(does)
      .argument('<host>', 'id of the host')
      .option('--json', 'print JSON')
      .action(async (id: string, options: { json?: boolean }) => {
        const { markHost } = await import('./commands/hosts.ts')
        await markHost(id, mark, options, io)
      })
  }
  hosts
    .command('lost')
    .description(
      'declare that a silent host is gone for good: its sessions go on elsewhere at once, from their checkpoints',
    )
    .argument('<host>', 'id of the host')
    .option('--json', 'print JSON')
    .action(async (id: string, options: { json?: boolean }) => {
      const { declareHostLost } = await import('./commands/hosts.ts')
      await declareHostLost(id, options, io)
    })
  hosts
    .command('remove')
    .description('forget a host without sandboxes; its token admits nobody any more')
    .argument('<host>', 'id of the host')
    .option('--json', 'print JSON')
    .action(async (id: string, options: { json?: boolean }) => {
      const { removeHost } = await import('./commands/hosts.ts')
      await removeHost(id, options, io)
    })
}

import type { Command } from 'commander'
import type { DoctorOptions } from './commands/doctor.ts'
import type { DownOptions, HostOptions } from './commands/serve.ts'
import type { ProgramHost } from './program.ts'

/** Adds the commands that are about this machine: they serve from it, examine it and free it. */
export function addMachine(program: Command, host: ProgramHost): void {
  program
    .command('serve')
    .description('run the service')
    .action(() => host.serve())
  program
    .command('host')
    .description('hold sandboxes on this machine for the service at --url')
    .option('--token <token>', 'token of this host (default: BERTH_HOST_TOKEN; prefer it, or BERTH_HOST_TOKEN_FILE)')
    .option('--capacity <count>', 'sandboxes that this machine holds at most (default: BERTH_HOST_CAPACITY, or 4)')
    .option('--pool <name>', 'pool that its token must be for (default: BERTH_HOST_POOL, or any)')
    .option('--label <name=value>', 'label of this machine; repeat it for more', (one, all: string[] = []) => [
      ...all,
      one,
    ])
    .action((options: HostOptions) => host.holdSandboxes({ ...program.opts<{ url?: string }>(), ...options }))
  program
    .command('down')
    .description('end all sandboxes of a data directory on this machine, so that it can be deleted')
    .option('--data <directory>', 'the data directory (default: BERTH_DATA_DIR, or .berth)')
    .option('--force', 'end the service that runs on it first')
    .action((options: DownOptions) => host.endSandboxes(options))
  program
    .command('doctor')
    .description('examine this machine and the service: what is missing, and what to do about it')
    .option('--json', 'print JSON, one finding per line')
    .addHelpText(
      'after',
      `
It reads the settings of the service from its environment, as berth serve does, makes a throw-away sandbox and changes
nothing. Each finding is ok, a warning (it works, less well than it could) or a failure. The exit code is 1 if there is a
failure, else 0.
`,
    )
    .action(async (_options: object, command: Command) => {
      const { doctor } = await import('./commands/doctor.ts')
      await host.withoutService(io => doctor(command.optsWithGlobals<DoctorOptions>(), process.env, io))
    })
}

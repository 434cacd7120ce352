import type { Command } from 'commander'
import type { LoginOptions } from './commands/login.ts'
import type { LogoutOptions } from './commands/logout.ts'
import type { ProgramHost } from './program.ts'

/** Adds the commands by which a person signs in, and chooses as whom the other commands act. */
export function addAccount(program: Command, host: ProgramHost): void {
  program
    .command('login')
    .description('sign in as a person; every command acts as that person from then on')
    .option('--auth-url <origin>', 'origin of the account service (default: the service names it)')
    .option('--device', 'show a code to enter in a browser on any machine, instead of opening one here')
    .option('--organization <id>', 'sign in to this organization, without being asked for one')
    .addHelpText(
      'after',
      `
Examples:
  berth login --url https://berth.example.com    sign in with the browser of this machine
  berth login --device                           sign in where no browser runs, for example over ssh
  berth login                                    sign in again to the current profile
  berth login --profile work --organization 0191d5a0-0000-7000-8000-000000000001

Sign-ins are kept in ~/.config/berth (or $XDG_CONFIG_HOME/berth), which only you can read.
`,
    )
    .action((_options: unknown, command: Command) =>
      host.withSignIns(async io => {
        const { login } = await import('./commands/login.ts')
        return login(command.optsWithGlobals<LoginOptions>(), io)
      }),
    )
  program
    .command('logout')
    .description('end a sign-in at the service, and forget it here (default: the current profile)')
    .option('--all', 'end every sign-in of this machine')
    .addHelpText(
      'after',
      `
Examples:
  berth logout                   end the sign-in of the current profile
  berth logout --profile work    end another one
  berth logout --all
`,
    )
    .action((_options: unknown, command: Command) =>
      host.withSignIns(async io => {
        const { logout } = await import('./commands/logout.ts')
        return logout(command.optsWithGlobals<LogoutOptions>(), io)
      }),
    )
  program
    .command('whoami')
    .description('show as whom commands act, in which organization, and with which credential')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { whoami } = await import('./commands/whoami.ts')
      await host.withService(command.optsWithGlobals(), io => whoami(options, io))
    })
  program
    .command('switch')
    .description('choose the profile that commands use; without a name, list the profiles')
    .argument('[name]')
    .option('--json', 'print JSON, one profile per line')
    .addHelpText(
      'after',
      `
Examples:
  berth switch                               list the profiles; * marks the current one
  berth switch work                          use this one from now on
  BERTH_PROFILE=work berth sessions          use it once
`,
    )
    .action((name: string | undefined, options: { json?: boolean }) =>
      host.withSignIns(async io => {
        const { switchProfile } = await import('./commands/switch.ts')
        return switchProfile(name, options, io)
      }),
    )
}

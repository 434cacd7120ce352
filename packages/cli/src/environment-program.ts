import type { Command } from 'commander'
import type { FileOption, PullOptions } from './environments/pull.ts'
import type { ExposureOptions } from './environments/secret-rule.ts'
import type { SecretOptions } from './environments/secrets.ts'
import type { JsonOption } from './environments/show.ts'
import type { TestOptions } from './environments/test-environment.ts'
import { collect, count } from './option-values.ts'
import type { ProgramHost } from './program.ts'

const defaultFile = 'berth.env.json'

/** Adds the commands on environments. */
export function addEnvironments(program: Command, host: ProgramHost): void {
  const env = program
    .command('env')
    .description('manage environments: what the sandboxes of sessions are to be set up with')
    .addHelpText(
      'after',
      `
Examples:
  berth env import .devcontainer/devcontainer.json    begin from what the project has
  berth env apply                                     create it from berth.env.json
  berth env pull web                                  or begin from one that exists
  berth env diff && echo nothing to apply
  berth env secrets set NPM_TOKEN < token.txt
  berth env test                                      apply it in a throw-away sandbox
  berth run --environment web 'fix the failing test'

An environment is named by its name or its id. Each fresh sandbox of its sessions is set up by the newest revision.
`,
    )
  addReading(env, host)
  addFile(env, host)
  addTest(env, host)
  addSecrets(env, host)
  addLifecycle(env, host)
}

function addReading(env: Command, host: ProgramHost): void {
  env
    .command('list')
    .description('list environments by name')
    .option('--archived', 'include archived environments')
    .option('--json', 'print JSON, one environment per line')
    .action(async (options: JsonOption & { archived?: boolean }, command: Command) => {
      const { list } = await import('./environments/show.ts')
      await host.withService(command.optsWithGlobals(), io => list(options, io))
    })
  env
    .command('show')
    .description("show an environment's newest revision")
    .argument('<environment>')
    .option('--json', 'print the environment as JSON')
    .action(async (named: string, options: JsonOption, command: Command) => {
      const { show } = await import('./environments/show.ts')
      await host.withService(command.optsWithGlobals(), io => show(named, options, io))
    })
  withFile(env.command('history'))
    .description('list the revisions of an environment, newest first, with what each changed')
    .argument('[environment]', 'default: that of the file')
    .option('--json', 'print JSON, one revision per line')
    .action(async (named: string | undefined, options: FileOption, command: Command) => {
      const { history } = await import('./environments/show.ts')
      await host.withService(command.optsWithGlobals(), io => history(named, options, io))
    })
}

function addFile(env: Command, host: ProgramHost): void {
  withFile(env.command('pull'))
    .description('write the newest revision to the file')
    .argument('[environment]', 'default: that of the file')
    .option('--force', 'drop changes of the file that were not applied')
    .option('--merge', 'keep them, and take over what others have changed since the revision of the file')
    .option('--json', 'print what was written as JSON')
    .action(async (named: string | undefined, options: PullOptions, command: Command) => {
      const { pull } = await import('./environments/pull.ts')
      await host.withService(command.optsWithGlobals(), io => pull(named, options, io))
    })
  withFile(env.command('diff'))
    .description('show what applying the file would change; the exit code is 1 if it would change anything')
    .option('--json', 'print the changed members and the patch as JSON')
    .action(async (options: FileOption, command: Command) => {
      const { diff } = await import('./environments/pull.ts')
      await host.withService(command.optsWithGlobals(), io => diff(options, io))
    })
  withFile(env.command('apply'))
    .description('create the environment of the file, or update it if nobody has changed it since')
    .option('--json', 'print the outcome as JSON')
    .action(async (options: FileOption, command: Command) => {
      const { apply } = await import('./environments/apply.ts')
      await host.withService(command.optsWithGlobals(), io => apply(options, io))
    })
  withFile(env.command('import'))
    .description("write the file from a devcontainer.json or Cursor's environment.json, and say what was left out")
    .argument('<source>')
    .option('--force', 'replace the file')
    .option('--json', 'print the document and what was left out as JSON')
    .addHelpText(
      'after',
      `
Examples:
  berth env import .devcontainer/devcontainer.json
  berth env import .cursor/environment.json --file cursor.env.json
`,
    )
    .action(async (source: string, options: FileOption & { force?: boolean }) => {
      const { importFile } = await import('./environments/import.ts')
      await host.withoutService(io => importFile(source, options, io))
    })
}

function addTest(env: Command, host: ProgramHost): void {
  env
    .command('test')
    .description('apply an environment in a sandbox of its own and show the log; the exit code is 1 if that fails')
    .argument('[environment]', `default: that of ${defaultFile}`)
    .option('--file <path>', 'test this file before it becomes a revision, without values of secrets')
    .option('--repository <owner/name>', 'check this repository out first, as for a session that has one')
    .option('--base <branch>', "branch to start from (default: the repository's default branch)")
    .option('--runtime <id>', 'agent runtime whose sandbox is tested; the agent is not started', 'shell')
    .option('--json', 'print the events as JSON')
    .addHelpText(
      'after',
      `
Examples:
  berth env test web                                newest revision
  berth env test --file berth.env.json && berth env apply

Ctrl-C ends the test and gives the sandbox back.
`,
    )
    .action(async (named: string | undefined, options: TestOptions, command: Command) => {
      const { testEnvironment } = await import('./environments/test-environment.ts')
      await host.withService(command.optsWithGlobals(), io => testEnvironment(named, { ...options, defaultFile }, io))
    })
}

function addSecrets(env: Command, host: ProgramHost): void {
  const secrets = env.command('secrets').description('write, list and delete the secrets of an environment')
  const named = (command: Command) =>
    withFile(command).option('-e, --environment <name|id>', 'environment (default: that of the file)')
  named(secrets.command('set'))
    .description('write a secret; its value is read from standard input, or from a prompt that does not show it')
    .argument('<name>')
    .option('--egress', 'give programs a placeholder, which the proxy replaces in requests to the hosts')
    .option('--host <name>', 'host that gets the value, or *.name; repeat for several', collect)
    .option('--header <name>', 'header of requests that holds it')
    .option('--format <text>', 'value of that header, with {value} once, such as "Bearer {value}"')
    .option('--basic <user>', 'put it into basic authentication, as the password of this user')
    .option('--query <name>', 'parameter of the query that holds it')
    .option('--method <name>', 'only in requests of this method; repeat for several', collect)
    .option('--path <prefix>', 'only in requests for this path and below; repeat for several', collect)
    .option('--setup', 'let setup scripts use it as well')
    .option('--variable', 'give programs the value, as a variable')
    .option('--keep-value', 'read no value: change only how sandboxes get it')
    .option('--json', 'print the name and the version as JSON')
    .addHelpText(
      'after',
      `
Examples:
  berth env secrets set NPM_TOKEN                            type or paste it
  berth env secrets set NPM_TOKEN < token.txt
  pass show deploy-key | berth env secrets set DEPLOY_KEY --environment web
  berth env secrets set STRIPE_API_KEY --egress              for the hosts of the service that the name tells
  berth env secrets set API_KEY --egress --host api.example.com --header X-Api-Key
  berth env secrets set API_KEY --keep-value --egress --host api.example.com --header X-Api-Key --path /v1

The line break after a single line is left out; a value of several lines is taken as it is.
`,
    )
    .action(async (name: string, options: SecretOptions & ExposureOptions, command: Command) => {
      const { setSecret } = await import('./environments/secrets.ts')
      await host.withService(command.optsWithGlobals(), io => setSecret(name, options, io))
    })
  named(secrets.command('list'))
    .description('list secrets with their versions and how sandboxes get them; nothing reads a value back')
    .option('--json', 'print JSON, one secret per line')
    .action(async (options: SecretOptions, command: Command) => {
      const { listSecrets } = await import('./environments/secrets.ts')
      await host.withService(command.optsWithGlobals(), io => listSecrets(options, io))
    })
  named(secrets.command('delete'))
    .description('delete a secret')
    .argument('<name>')
    .option('--json', 'print the outcome as JSON')
    .action(async (name: string, options: SecretOptions, command: Command) => {
      const { deleteSecret } = await import('./environments/secrets.ts')
      await host.withService(command.optsWithGlobals(), io => deleteSecret(name, options, io))
    })
}

function addLifecycle(env: Command, host: ProgramHost): void {
  withFile(env.command('restore'))
    .description("write a new revision with the document of an earlier one and today's secrets")
    .argument('<revision>', 'number, as `berth env history` shows it', count)
    .argument('[environment]', 'default: that of the file')
    .option('--json', 'print the environment as JSON')
    .action(async (revision: number, named: string | undefined, options: FileOption, command: Command) => {
      const { restore } = await import('./environments/lifecycle.ts')
      await host.withService(command.optsWithGlobals(), io => restore(revision, named, options, io))
    })
  for (const verb of ['archive', 'unarchive'] as const) {
    env
      .command(verb)
      .description(verb === 'archive' ? 'archive an environment; bound sessions stay bound' : 'make it live again')
      .argument('<environment>')
      .option('--json', 'print the environment as JSON')
      .action(async (named: string, options: JsonOption, command: Command) => {
        const lifecycle = await import('./environments/lifecycle.ts')
        await host.withService(command.optsWithGlobals(), io => lifecycle[verb](named, options, io))
      })
  }
  env
    .command('default')
    .description("show the default of people's new sessions, or choose it; none clears it")
    .argument('[environment]')
    .option('--json', 'print the environment as JSON')
    .action(async (named: string | undefined, options: JsonOption, command: Command) => {
      const { chooseDefault } = await import('./environments/lifecycle.ts')
      await host.withService(command.optsWithGlobals(), io => chooseDefault(named, options, io))
    })
}

const withFile = (command: Command): Command => command.option('--file <path>', 'the file', defaultFile)

import { CommanderError } from 'commander'
import type { Connection } from './connection.ts'
import { exitCode } from './exit-code.ts'
import type { Output as PlainOutput } from './output.ts'
import { buildProgram, type ProgramHost } from './program.ts'
import { withFieldsApart } from './shape/add-shape-options.ts'

/** The service that a command asks, for the message if it fails. */
let current: Connection | null = null

/** The standard output of a command, cut as its options say. */
const cut: { output: { readonly remark: string | null } | null } = { output: null }
let fields: readonly string[] | null = null

/** Loads the code that cuts JSON only if it is needed. */
async function standardOutput(): Promise<PlainOutput> {
  if (fields === null) {
    const { Output } = await import('./output.ts')
    return new Output(process.stdout, process.env)
  }
  const { ShapedOutput } = await import('./shape/shaped-output.ts')
  const output = new ShapedOutput(process.stdout, process.env, fields)
  cut.output = output
  return output
}

async function standInFor(connection: Connection, stderr: PlainOutput): Promise<Connection> {
  const [{ standIn }, { printableLine }] = await Promise.all([
    import('./sign-in/stand-in.ts'),
    import('./terminal-text.ts'),
  ])
  return standIn(connection, line => stderr.line(`berth: ${printableLine(line)}`))
}

const host: ProgramHost = {
  cutTo: names => {
    fields = names
  },
  async serve() {
    const { serve } = await import('./commands/serve.ts')
    process.exitCode = await serve(process.env)
  },
  async holdSandboxes(options) {
    const { holdSandboxes } = await import('./commands/serve.ts')
    process.exitCode = await holdSandboxes(process.env, options)
  },
  async endSandboxes(options) {
    const { endSandboxes } = await import('./commands/serve.ts')
    process.exitCode = await endSandboxes(process.env, options)
  },
  async installRuntime(id) {
    const { installRuntime } = await import('./commands/serve.ts')
    process.exitCode = await installRuntime(process.env, id)
  },
  async withService(flags, command) {
    const [{ connect, findConnection }, { Output }, { ServiceClock }] = await Promise.all([
      import('./connection.ts'),
      import('./output.ts'),
      import('./service-clock.ts'),
    ])
    const stderr = new Output(process.stderr, process.env)
    const found = findConnection(flags, process.env)
    const connection = found.standIn === undefined ? found : await standInFor(found, stderr)
    current = connection
    const clock = new ServiceClock()
    process.exitCode = await command({
      client: connect(connection, clock),
      clock,
      connection,
      stdin: process.stdin,
      stdout: await standardOutput(),
      stderr,
    })
  },
  async withoutService(command) {
    const { Output } = await import('./output.ts')
    process.exitCode = await command({
      stdout: await standardOutput(),
      stderr: new Output(process.stderr, process.env),
    })
  },
  async withSignIns(command) {
    const [{ defaultPlatform }, { Output }, { ProfileStore }] = await Promise.all([
      import('@berth/client'),
      import('./output.ts'),
      import('./profiles/profile-store.ts'),
    ])
    process.exitCode = await command({
      env: process.env,
      store: ProfileStore.of(process.env),
      platform: defaultPlatform,
      stdout: await standardOutput(),
      stderr: new Output(process.stderr, process.env),
    })
  },
}

// `berth events … | head` ends when head does, silently, because nobody reads the output any more.
process.stdout.on('error', error => {
  if ('code' in error && error.code === 'EPIPE') process.exit(exitCode.outputClosed)
  throw error
})
process.stderr.on('error', () => {})

try {
  await buildProgram(host).parseAsync(withFieldsApart(process.argv))
  const remark = cut.output?.remark
  if (remark) console.error(`berth: ${remark}`)
} catch (failure) {
  if (failure instanceof CommanderError) {
    // Commander has printed the message; help and version also end here, with exit code 0.
    process.exitCode = failure.exitCode === 0 ? exitCode.completed : exitCode.usage
  } else {
    const { explain } = await import('./failure.ts')
    const { line, code } = explain(failure, current)
    console.error(`berth: ${line}`)
    process.exitCode = code
  }
}

import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { spawn } from '../../../script/testing/spawn.ts'

/** An ordinary user, whom the machine need not know. */
const USER = 54_321
const privileged = process.getuid?.() === 0

/** Users that may run the service; an ordinary user can test only one mode. */
export const modes = [
  ...(privileged ? [{ mode: 'of a service that runs as root', user: undefined }] : []),
  { mode: 'of a service that runs as an ordinary user', user: privileged ? USER : process.getuid?.() },
]

/** The exit and the output of a script in a sandbox. */
export interface Ran {
  readonly code: number | string
  readonly out: string
}

/** A sandbox of a service that runs as a given user, in its own process. */
export class StartedSandbox implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>
  readonly #dataDir: string

  private constructor(dataDir: string, user: number | undefined) {
    const command = [process.execPath, join(import.meta.dirname, 'sandbox-host.ts'), dataDir]
    const id = String(user)
    const [program = '', ...args] =
      user === undefined || !privileged
        ? command
        : ['setpriv', '--reuid', id, '--regid', id, '--clear-groups', ...command]
    this.#dataDir = dataDir
    this.#child = spawn(program, args, { env: { ...process.env, BERTH_TEST_CANARY: 'canary' } })
    this.#child.stderr.pipe(process.stderr)
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /**
   * Starts the sandbox.
   * @param fill puts files where the sandbox sees them as `/opt/berth/bundles`
   */
  static async start(user: number | undefined, fill: (bundles: string) => Promise<void> = async () => undefined) {
    const dataDir = await mkdtemp(join(tmpdir(), 'berth-sandbox-'))
    const bundles = join(dataDir, 'bundles')
    await mkdir(bundles)
    await fill(bundles)
    if (user !== undefined && privileged) await chown(dataDir, user, user)
    const sandbox = new StartedSandbox(dataDir, user)
    // The first line reports the limits; it also means that the sandbox is up.
    await sandbox.#line()
    return sandbox
  }

  /** Pid of the service's process. */
  get servicePid(): number | undefined {
    return this.#child.pid
  }

  /** Runs a bash script inside; one at a time. */
  async run(script: string): Promise<Ran> {
    this.#child.stdin.write(`${JSON.stringify(script)}\n`)
    return JSON.parse(await this.#line())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end()
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
    await rm(this.#dataDir, { recursive: true, force: true })
  }

  async #line(): Promise<string> {
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error('the service of the sandbox has ended')
    return value
  }
}

import type { ChildProcess } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { spawn } from '../../../../script/testing/spawn.ts'
import { destroySandboxes } from '../faults/destroy-sandboxes.ts'
import { runDirectory } from '../leaks/run-directory.ts'
import type { TestService } from '../services/service.ts'

const PROGRAM = fileURLToPath(new URL('../../../server/dist/host.js', import.meta.url))

/** A machine that holds sandboxes for a service, as a process of its own with a data directory of its own. */
export class HostProgram implements AsyncDisposable {
  readonly id: string
  readonly dataDir: string
  /** What it said on stderr. */
  output = ''
  readonly #isOwn: boolean
  readonly #variables: Readonly<Record<string, string>>
  #child: ChildProcess | null = null

  private constructor(id: string, dataDir: string, isOwn: boolean, variables: Readonly<Record<string, string>>) {
    this.id = id
    this.dataDir = dataDir
    this.#isOwn = isOwn
    this.#variables = variables
  }

  /** Makes a host of a service, which is not started yet. */
  static of(test: TestService, variables: Readonly<Record<string, string>> = {}): Promise<HostProgram> {
    return HostProgram.at(test.db.database, `http://127.0.0.1:${test.service.hostsPort}`, variables)
  }

  /** Makes a host that dials that URL, which is not started yet. A data directory that `variables` name is the caller's. */
  static async at(
    db: Pick<Queryable, 'query'>,
    url: string,
    variables: Readonly<Record<string, string>> = {},
  ): Promise<HostProgram> {
    const token = `host-${randomBytes(24).toString('hex')}`
    const id = randomUUID()
    await db.query({
      text: `
        insert into hosts (id, runtimes, seen_at, token_sha256, created_at)
        values ($1, '{}', now() - interval '1 day', $2, now())`,
      values: [id, createHash('sha256').update(token).digest()],
    })
    const given = variables['BERTH_DATA_DIR']
    const dataDir = given ?? (await runDirectory('host'))
    return new HostProgram(id, dataDir, given === undefined, {
      PATH: process.env['PATH'] ?? '',
      BERTH_DATA_DIR: dataDir,
      BERTH_HOST_URL: url,
      BERTH_HOST_TOKEN: token,
      BERTH_HOST_CAPACITY: '8',
      BERTH_POOL_MOST: '0',
      BERTH_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
      BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
      BERTH_LOG_LEVEL: 'warn',
      ...variables,
    })
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  start(): void {
    const child = spawn(process.execPath, [PROGRAM], { env: this.#variables, stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.output += text
    })
    this.#child = child
  }

  /** Resolves with the exit code once it has ended by itself. */
  async ended(): Promise<number | null> {
    const child = this.#child
    if (child !== null && child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    return child?.exitCode ?? null
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    this.signal(signal)
    await this.ended()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL')
    await destroySandboxes(this.dataDir)
    if (this.#isOwn) await rm(this.dataDir, { recursive: true, force: true })
  }
}

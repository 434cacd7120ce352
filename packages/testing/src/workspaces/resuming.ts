import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import type { RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import type { Fixed } from '@berth/platform/settings/fixed.ts'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import type { ExecutionContext } from '@berth/worker/claim/execution-context.ts'
import { Sweeper } from '@berth/worker/host/sweeper.ts'
import { Worker } from '@berth/worker/worker.ts'
import { entryOf, scriptedRuntimes } from '../agents/scripted-runtimes.ts'
import { type EndedRun, endedRun } from '../runs/ended-run.ts'
import { startTestService, type TestService } from '../services/service.ts'
import { workerContext } from '../services/worker-context.ts'
import { until } from '../until.ts'

export type WorkerOptions = Omit<NonNullable<Parameters<typeof workerContext>[2]>, 'runtimes'>

/** Returns a driver with some of its operations replaced. */
export const brokenDriver =
  (verbs: (real: SandboxDriver) => Partial<SandboxDriver>) =>
  (real: SandboxDriver): SandboxDriver => ({ ...real, ...verbs(real) })

/** Blocks every caller while it is shut. */
export class Gate {
  #open: PromiseWithResolvers<void> | null = null
  /** Number of callers that arrived while it was shut. */
  waiting = 0

  shut(): void {
    this.#open ??= Promise.withResolvers()
  }

  open(): void {
    this.#open?.resolve()
    this.#open = null
    this.waiting = 0
  }

  async pass(): Promise<void> {
    if (this.#open === null) return
    this.waiting += 1
    await this.#open.promise
  }
}

/** The API in this process, and workers that a test starts, breaks and stops. */
export class Resuming implements AsyncDisposable {
  readonly test: TestService
  readonly #runtimes: readonly Parameters<typeof entryOf>[0][]
  readonly #opened: AsyncDisposableStack

  static async open(variables: Record<string, string> = {}, fixed: Partial<Fixed> = {}): Promise<Resuming> {
    await using stack = new AsyncDisposableStack()
    const { runtimes } = stack.use(await scriptedRuntimes())
    const test = stack.use(
      await startTestService({ variables: { BERTH_ROLES: 'api', ...variables }, fixed, config: { runtimes } }),
    )
    return new Resuming(test, runtimes, stack.move())
  }

  private constructor(
    test: TestService,
    runtimes: readonly Parameters<typeof entryOf>[0][],
    opened: AsyncDisposableStack,
  ) {
    this.test = test
    this.#runtimes = runtimes
    this.#opened = opened
  }

  get api(): TestService['api'] {
    return this.test.api
  }

  /** Catalog entries of the scripted agents, for a worker. */
  get entries(): readonly RuntimeEntry[] {
    return this.#runtimes.map(entryOf)
  }

  /** Starts a worker and a sweeper that stop with the stack. */
  async work(stack: AsyncDisposableStack, options: WorkerOptions = {}): Promise<ExecutionContext> {
    const context = await workerContext(this.test, stack, { ...options, runtimes: this.entries })
    for (const service of [new Worker(context), new Sweeper(context)]) await stack.use(service).start()
    return context
  }

  ended(session: Session, runId = session.activeRunId ?? ''): Promise<EndedRun> {
    return endedRun(this.api, session, runId)
  }

  /** Makes a Session with one Run that has ended and been sealed. */
  async sealed(runtime: string, message: string): Promise<EndedRun> {
    const session = await this.api.createSession({ runtime }, message)
    return this.settled(session, session.activeRunId)
  }

  /** Runs one more Turn until it has ended and been sealed. */
  async next(session: Session, message: string): Promise<EndedRun> {
    const { run } = await this.api.submitTurn(session.id, message)
    return this.settled(session, run.id)
  }

  async settled(session: Session, runId = session.activeRunId): Promise<EndedRun> {
    const ended = await this.ended(session, runId)
    await until('the end of sealing', async () => (await this.api.session(session.id)).phase === 'idle')
    return ended
  }

  /** Makes the lease due and waits until a sweeper has ended it. */
  async expire(session: Session): Promise<Session> {
    await this.test.db.database.query(
      "update leases set expires_at = 'epoch' where session_id = $1 and ended_at is null",
      [session.id],
    )
    return this.expired(session)
  }

  expired(session: Session): Promise<Session> {
    return until('an expired workspace', async () => {
      const now = await this.api.session(session.id)
      return now.workspace.state === 'expired' && now
    })
  }

  /** Lists the Runs whose checkpoint is kept, oldest first. */
  async checkpoints(session: Session): Promise<string[]> {
    const { rows } = await this.test.db.database.query<{ run_id: string }>(
      'select run_id from checkpoints where session_id = $1 order by sealed_at',
      [session.id],
    )
    return rows.map(row => row.run_id)
  }

  /** Lists the files of the blobs that a Run's checkpoint names. */
  async blobFiles(session: Session, runId: string): Promise<string[]> {
    const { rows } = await this.test.db.database.query<{ sha256: string }>(
      'select unnest(blobs) as sha256 from checkpoints where session_id = $1 and run_id = $2 order by 1',
      [session.id, runId],
    )
    return rows.map(({ sha256 }) => join(this.test.dataDir, 'blobs', sha256.slice(0, 2), sha256.slice(2)))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened.disposeAsync()
  }
}

/** Functions that damage or remove a blob. */
export const damages = {
  removed: (path: string) => rm(path),
  altered: (path: string) => writeFile(path, 'x'.repeat(100), { flag: 'r+' }),
  cut: (path: string) => writeFile(path, ''),
} as const

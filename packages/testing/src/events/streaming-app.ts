import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from '@berth/core/context.ts'
import { defaultIdentity } from '@berth/core/git/git-identity.ts'
import { GitHosts } from '@berth/core/git-hosts/git-hosts.ts'
import { SandboxDoors } from '@berth/core/hosts/sandbox-doors.ts'
import { createApp } from '@berth/core/http/app.ts'
import { DatabaseAuthority } from '@berth/core/identity/guard/authority.ts'
import type { Authority } from '@berth/core/identity/guard/principal.ts'
import { openTokenVerifier } from '@berth/core/identity/tokens/token-verifier.ts'
import { RuntimeCatalog } from '@berth/core/runtimes/catalog.ts'
import { configuredModels } from '@berth/core/runtimes/configured-models.ts'
import { EventStreams } from '@berth/core/sessions/streams/event-streams.ts'
import { StreamBudget } from '@berth/core/sessions/streams/stream-budget.ts'
import { StreamLedger } from '@berth/core/sessions/streams/stream-ledger.ts'
import { webhookRules } from '@berth/core/webhooks/webhook-url.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { PeriodicTasks } from '@berth/platform/kit/periodic-tasks.ts'
import { openNetwork } from '@berth/platform/network/dial.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { Database, Queryable, Statement } from '@berth/platform/storage/postgres/database.ts'
import { clientConfig, openDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { PostgresWakeups } from '@berth/platform/storage/postgres/wakeups.ts'
import { openSupervisorDoor } from '@berth/sandboxes/leases/supervisor-door.ts'
import { apiHandlers } from '@berth/server/composition/api-handlers.ts'
import { extensionCatalog } from '@berth/server/composition/extension-catalog.ts'
import { pino } from 'pino'
import { silentLog } from '../services/log.ts'
import type { TestDatabase } from '../storage/postgres.ts'

/** The API of one process with access to its streaming parts, which the service keeps private. */
export interface StreamingApp extends AsyncDisposable {
  readonly url: string
  readonly streams: EventStreams
  readonly budget: StreamBudget
  readonly statements: StatementLog
  /** Stops sending and accepting. */
  close(): Promise<void>
}

export interface StreamingAppOptions {
  readonly allowance?: { readonly perAuthority: number; readonly perProcess: number }
  /** Resolves bearers to principals; by default the database does. */
  readonly authority?: Authority
}

const nothing = { egress: { hosts: undefined, refuse: [] }, extensions: { catalog: [] } }
const noModels = { providers: [], models: { default: undefined, aliases: {}, fallbacks: {}, details: {} } }
const plenty = { burst: 1_000_000, perMinute: 1_000_000 }

export async function startStreamingApp(test: TestDatabase, options: StreamingAppOptions = {}): Promise<StreamingApp> {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'berth-blobs-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const target = { connection: test.connection, log: silentLog }
  const statements = new StatementLog(stack.use(openDatabase(target)))
  const log = pino({ level: 'silent' })
  const wakeups = stack.use(new PostgresWakeups({ connection: clientConfig(target), log }))
  await wakeups.start()
  const context: Context = {
    db: statements,
    blobs: await FileBlobs.open(directory),
    wakeups,
    clock: systemClock,
    log,
    runtimes: new RuntimeCatalog([]),
    gitHosts: new GitHosts([]),
    commits: { identity: defaultIdentity, signer: null },
    models: configuredModels(noModels),
    defaultModel: null,
    workspaceWaitMs: 30_000,
    reviewWaitMs: 30_000,
    consoleUrl: 'http://localhost',
    baseUrl: 'http://localhost',
  }
  const streams = new EventStreams(context)
  const { perAuthority, perProcess } = options.allowance ?? { perAuthority: 64, perProcess: 256 }
  const ledger = stack.use(new StreamLedger(statements, log, perAuthority))
  await stack.use(new PeriodicTasks([ledger])).start()
  const budget = new StreamBudget(ledger, perProcess)
  const life = { minMs: 300_000, maxMs: 600_000, authorityMs: 10_000, random: Math.random }
  const compute = { kind: 'bubblewrap', leaseIdleMs: 900_000, leaseMaxMs: 14_400_000 } as const
  const own = { host: 'here', door: await openSupervisorDoor(directory) }
  const doors = new SandboxDoors(own, null, { mint: () => '' })
  const app = createApp({
    handlers: apiHandlers(
      context,
      compute,
      { streams, budget, life },
      { transcription: undefined, egress: { hosts: undefined, refuse: [] }, ...noModels },
      { budgets: {}, rate: plenty, auditMs: 86_400_000 },
      {
        trialMs: 60_000,
        spoolDirectory: tmpdir(),
        catalog: extensionCatalog(context, { dataDir: directory, config: nothing }),
      },
      {
        terminals: { context, doors, idleMs: 900_000, authorityMs: 10_000 },
        tools: { served: () => null, baseUrl: () => 'http://127.0.0.1', stopping: new AbortController().signal },
        triggers: null,
        previews: { context, doors, authorityMs: 10_000, domain: () => null, clientAddress: () => '' },
        webhooks: {
          masterKey: new MasterKey(randomBytes(32)),
          network: openNetwork(),
          rules: webhookRules({ ports: [], allow: [] }, () => true),
        },
      },
    ),
    authority:
      options.authority ??
      new DatabaseAuthority(
        context.db,
        context.clock,
        openTokenVerifier(context.db, context.clock, () => 'http://localhost'),
        { authority: plenty, edge: plenty },
      ),
    logger: log,
    needs: {},
  })
  stack.defer(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const opened = stack.move()
  const close = () => opened.disposeAsync()
  return { url, streams, budget, statements, close, [Symbol.asyncDispose]: close }
}

/** A database that counts its named statements and can delay some of them. */
export class StatementLog implements Database {
  readonly #db: Database
  readonly #counts = new Map<string, number>()
  readonly #answers = new Map<string, number>()
  readonly #held = { statement: new Map<string, Promise<void>>(), answer: new Map<string, Promise<void>>() }

  constructor(db: Database) {
    this.#db = db
  }

  count(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  /** Returns how many statements of that name have been answered. */
  answered(name: string): number {
    return this.#answers.get(name) ?? 0
  }

  /** Delays statements of that name, or their answers, until the test calls the returned function. */
  hold(name: string, what: 'statement' | 'answer' = 'statement'): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#held[what].set(name, promise)
    return () => {
      this.#held[what].delete(name)
      resolve()
    }
  }

  async query<Row>(statement: string | Statement, values?: readonly unknown[]) {
    const name = (typeof statement === 'string' ? undefined : statement.name) ?? ''
    this.#counts.set(name, this.count(name) + 1)
    await this.#held.statement.get(name)
    const answer = await this.#db.query<Row>(statement, values)
    await this.#held.answer.get(name)
    this.#answers.set(name, this.answered(name) + 1)
    return answer
  }

  transaction<T>(work: (transaction: Queryable) => Promise<T>): Promise<T> {
    return this.#db.transaction(work)
  }
}

import { documentOfLease } from '@berth/core/environments/fix-environment.ts'
import type { LeasePlace } from '@berth/core/hosts/hosts.ts'
import { findLiveLease, type LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { findSession, lockSession } from '@berth/core/sessions/session/session-sql.ts'
import { sealTerminalWork } from '@berth/core/sessions/terminals/seal-terminal-work.ts'
import { listFallen } from '@berth/core/sessions/terminals/terminal-snapshot-sql.ts'
import {
  endDuePreviews,
  endLostTerminals,
  endTerminal,
  listAwake,
  listOwedEnds,
  markStarted,
  oweEnd,
  type PlacedTerminal,
  settleEnd,
  type TerminalRow,
} from '@berth/core/sessions/terminals/terminal-sql.ts'
import { listUnsealed } from '@berth/core/sessions/terminals/terminal-work-sql.ts'
import { LoopingService } from '@berth/platform/kit/looping-service.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { orderTerminal } from '@berth/sandboxes/terminal-line.ts'
import type { TerminalStart } from '@berth/supervisor/terminals'
import { agentEnvironment, environmentWith } from '../agent/agent-environment.ts'
import { environmentOfLease } from '../apply/lease-environment.ts'
import { atHost, type ExecutionContext, type WorkerContext } from '../claim/execution-context.ts'
import { thawForTerminal } from '../workspace/freeze-lease.ts'
import { Tries } from './tries.ts'

/** Delay of a missed wake-up, and of a try that met a sandbox at rest. */
const ROUND_MS = 2_000
/** How long a running supervisor may take to answer. */
const ANSWER_MS = 5_000
/** Delays after failures in a row. An end that is owed is ordered for as long as the lease lives, a start is given up. */
const DELAYS = { firstMs: 1_000, mostMs: 20_000 }
const MAX_STARTS = 5

/** Times that tests shorten. */
export interface TerminalTimes {
  readonly roundMs?: number
  readonly answerMs?: number
  readonly delays?: { readonly firstMs: number; readonly mostMs: number }
}

/**
 * Starts the terminals of this host's sandboxes and keeps those running that somebody looks at, or that have a preview.
 * When nobody does any more, the work that was done there is sealed, and the sandbox comes to rest.
 */
export class TerminalKeeper extends LoopingService {
  override readonly name = 'terminal keeper'
  readonly #context: WorkerContext
  readonly #idleMs: number
  readonly #answerMs: number
  /** By lease: it is the sandbox that does not answer. */
  readonly #tries: Tries
  /** Work under way, by Session, and Sessions that a round found at it. */
  readonly #busy = new Map<string, Promise<void>>()
  readonly #again = new Set<string>()
  readonly #stop = new AbortController()
  #unsubscribe = () => {}

  /** @param idleMs how long a browser may be silent until it is signed out */
  constructor(
    context: WorkerContext,
    { idleMs }: { readonly idleMs: number },
    { roundMs = ROUND_MS, answerMs = ANSWER_MS, delays = DELAYS }: TerminalTimes = {},
  ) {
    super(roundMs)
    this.#context = context
    this.#idleMs = idleMs
    this.#answerMs = answerMs
    this.#tries = new Tries(delays)
  }

  override async start(): Promise<void> {
    this.#unsubscribe = this.#context.wakeups.subscribe(topics.terminals, () => this.wake())
    await super.start()
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe()
    this.#stop.abort()
    await super[Symbol.asyncDispose]()
    await Promise.allSettled(this.#busy.values())
  }

  protected async round(): Promise<void> {
    const { db, clock, hosts, wakeups } = this.#context
    const held = hosts.ids()
    for (const id of await endLostTerminals(db, clock.now())) wakeups.publish(topics.terminal(id))
    const now = clock.now()
    for (const id of await endDuePreviews(db, now)) wakeups.publish(topics.terminal(id))
    for (const id of await listFallen(db, held, now, new Date(now.getTime() - this.#idleMs))) {
      if (await endTerminal(db, id, 'closed', now)) wakeups.publish(topics.terminal(id))
    }
    const rows = [...(await listOwedEnds(db, held)), ...(await listAwake(db, held, now))]
    const leases = leasesOf(rows)
    this.#tries.keep(new Set(leases.map(({ leaseId }) => leaseId)))
    for (const { leaseId, key, host } of leases) {
      if (this.#isBusy(key) || !this.#tries.isDue(leaseId)) continue
      const own = rows.filter(row => row.lease_id === leaseId)
      // Nobody waits for it here: a sandbox that does not answer delays no other.
      this.#busy.set(
        key.sessionId,
        this.#keep({ leaseId, host }, key, own).finally(() => {
          this.#busy.delete(key.sessionId)
          if (this.#again.delete(key.sessionId)) this.wake()
        }),
      )
    }
    for (const key of await listUnsealed(db, held, clock.now())) {
      // A shell that is to end ends before its sandbox is frozen.
      if (!this.#isBusy(key)) await this.#try(key, () => this.#seal(key))
    }
  }

  #isBusy({ sessionId }: SessionKey): boolean {
    const isBusy = this.#busy.has(sessionId)
    if (isBusy) this.#again.add(sessionId)
    return isBusy
  }

  protected failed(error: unknown): void {
    logFailure(this.#context.log, error, {
      waiting: 'the terminal keeper waits for the database',
      failed: 'the terminal keeper failed',
    })
  }

  /** Carries out what the terminals of one sandbox need. What fails is tried again later; starts are given up in the end. */
  async #keep({ leaseId, host }: LeasePlace, key: SessionKey, rows: readonly TerminalRow[]): Promise<void> {
    const requested = rows.filter(({ state }) => state === 'requested')
    try {
      const context = atHost(this.#context, host)
      if (rows.some(({ state }) => state !== 'ended')) await thawForTerminal(context, key)
      for (const row of rows) if (row.state === 'ended') await this.#close(context, row)
      for (const row of requested) await this.#open(context, row)
      this.#tries.succeeded(leaseId)
    } catch (error) {
      if (this.#stop.signal.aborted) return
      if (error instanceof DatabaseUnavailable) {
        this.failed(error)
        return
      }
      const count = this.#tries.failed(leaseId)
      this.#context.log.warn({ err: error, sessionId: key.sessionId, count }, 'a terminal could not be kept')
      if (count >= MAX_STARTS) await this.#giveUp(requested).catch(failure => this.failed(failure))
    }
  }

  /** Ends terminals that no supervisor started; it is still owed the order, which may reach it behind the others. */
  async #giveUp(requested: readonly TerminalRow[]): Promise<void> {
    const { db, clock, wakeups } = this.#context
    for (const { id } of requested) {
      if (await endTerminal(db, id, 'failed', clock.now())) wakeups.publish(topics.terminal(id))
    }
  }

  async #try(key: SessionKey, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error instanceof DatabaseUnavailable || this.#stop.signal.aborted) throw error
      this.#context.log.warn({ err: error, sessionId: key.sessionId }, 'the work of a terminal could not be sealed')
    }
  }

  async #close({ db, driver, wakeups }: ExecutionContext, { id, lease_id: leaseId }: TerminalRow): Promise<void> {
    if ((await driver.stateOf(leaseId)) !== 'running') return
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(this.#answerMs)])
    await orderTerminal(await driver.attach(leaseId, signal), { id, end: true }, signal)
    await settleEnd(db, id)
    wakeups.publish(topics.leases)
  }

  async #open(context: ExecutionContext, terminal: TerminalRow): Promise<void> {
    const { db, driver, clock, wakeups } = context
    const lease = await findLiveLease(db, keyOf(terminal))
    // A sandbox at rest does not answer; its thaw brings the next round.
    if (lease?.id !== terminal.lease_id || (await driver.stateOf(lease.id)) !== 'running') return
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(this.#answerMs)])
    const start = await this.#startOf(terminal, lease)
    const answer = await orderTerminal(await driver.attach(lease.id, signal), { id: terminal.id, start }, signal)
    if (answer.terminal !== 'started') await endTerminal(db, terminal.id, 'failed', clock.now())
    else if (!(await markStarted(db, terminal.id))) {
      // It was closed meanwhile, and the supervisor may have been told so before it knew the shell.
      await oweEnd(db, terminal.id)
      await this.#close(context, terminal)
    }
    wakeups.publish(topics.terminal(terminal.id))
  }

  /**
   * Returns the shell's variables: those of the agent, but not the environment's secrets, which people never see again,
   * nor what a runtime's catalog entry gives to its agent. A preview runs the environment's command, if it has one.
   */
  async #startOf({ columns, rows, preview_ends_at }: TerminalRow, lease: LeaseRow): Promise<TerminalStart> {
    const { db, runtimes } = this.#context
    const reach = runtimes.find(lease.runtime)?.reach ?? []
    const [environment, session, document] = await Promise.all([
      environmentOfLease(db, lease),
      findSession(db, { organizationId: lease.organization_id, sessionId: lease.session_id }),
      preview_ends_at === null ? null : documentOfLease(db, lease),
    ])
    const command = document?.preview?.command
    const base =
      environment === null ? agentEnvironment(reach) : environmentWith(reach, { ...environment, secrets: {} })
    const env = { ...base, ...shown, SHELL: '/bin/bash', LOGNAME: 'agent', BERTH_SESSION_ID: lease.session_id }
    return {
      env,
      cwd: session?.source ? insidePaths.project : insidePaths.workspace,
      columns,
      rows,
      ...(command && { command }),
    }
  }

  async #seal(key: SessionKey): Promise<void> {
    const { db, clock, wakeups } = this.#context
    const pending = await db.transaction(async tx => {
      const session = await lockSession(tx, key)
      if (session === null || session.active_run_id !== null || session.finalizing) return false
      return sealTerminalWork(tx, key, clock.now())
    })
    if (pending) wakeups.publish(topics.queue, topics.session(key.organizationId, key.sessionId))
  }
}

/** What programs may show, since every emulator of ours does; and a prompt that tells where one is. */
const shown = {
  TERM: 'xterm-256color',
  COLORTERM: 'truecolor',
  PS1: '\\[\\e[36m\\]\\w\\[\\e[0m\\] \\$ ',
} as const

const keyOf = (row: TerminalRow): SessionKey => ({ organizationId: row.organization_id, sessionId: row.session_id })

const leasesOf = (rows: readonly PlacedTerminal[]): readonly (LeasePlace & { readonly key: SessionKey })[] => [
  ...new Map(rows.map(row => [row.lease_id, { leaseId: row.lease_id, host: row.host, key: keyOf(row) }])).values(),
]

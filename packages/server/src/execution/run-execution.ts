import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { findLiveLease } from '../leases/lease-sql.ts'
import type { Outcome } from '../runs/run.ts'
import { findRun } from '../runs/run-sql.ts'
import { NATIVE_RUNTIME, type RuntimeEntry } from '../runtimes/catalog.ts'
import { SandboxGoneError } from '../sandboxes/driver.ts'
import { DatabaseUnavailable } from '../storage/database-errors.ts'
import { topics } from '../storage/wakeups.ts'
import type { TurnRow } from '../turns/turn.ts'
import { findTurn } from '../turns/turn-sql.ts'
import { Attempt } from './attempt.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { Claim } from './execution-sql.ts'
import { executionLost, finishRun, loseAttempt } from './finish.ts'
import { ClaimLost } from './interruption.ts'
import { ProvisionFailed, provision } from './provision.ts'
import { SupervisorConnection } from './supervisor-connection.ts'
import {
  ConnectionClosedError,
  FenceLostError,
  SandboxFrozenError,
  SupervisorProtocolError,
} from './supervisor-errors.ts'

/** Between two tries while the database or a connection is away. */
const RETRY_MS = 250

/**
 * Executes a claimed Run to its end, or until the claim is lost or the worker stops.
 *
 * Whatever fails on the way, the rows and the journal say where to go on: a database that is away, a connection that
 * broke and a predecessor that died are all met by reading them again. It never throws; a fault of ours is logged and
 * costs a handover, which are counted, so that poison work ends.
 */
export async function executeRun(context: ExecutionContext, claim: Claim, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      if (await step(context, claim, signal)) return
    } catch (error) {
      if (error instanceof ClaimLost || error instanceof FenceLostError || signal.aborted) return
      if (!(error instanceof DatabaseUnavailable || error instanceof ConnectionClosedError)) {
        context.log.error({ err: error, runId: claim.run.id, sessionId: claim.sessionId }, 'executing a run failed')
        return
      }
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
  }
}

/** Goes on from what the rows say. @returns whether nothing is left to do */
async function step(context: ExecutionContext, given: Claim, signal: AbortSignal): Promise<boolean> {
  const run = await findRun(context.db, given, given.run.id)
  if (run === null || run.ended_at !== null || run.status === 'queued') return true
  const claim: Claim = { ...given, run }
  if (run.handovers > context.limits.maxHandovers) {
    context.log.error({ runId: run.id, handovers: run.handovers }, 'a run keeps losing its workers')
    await finishRun(context, claim, executionLost)
    return true
  }
  const runtime = context.runtimes.find(run.runtime ?? NATIVE_RUNTIME)
  const turn = await findTurn(context.db, claim, run.turn_id)
  if (turn === null) throw new Error(`run ${run.id} has no turn`)
  const refused = refuseRuntime(context, run.runtime, runtime)
  if (refused !== null || runtime === null) {
    await finishRun(context, claim, refused ?? executionLost)
    return true
  }
  if (
    run.cancel_requested_at !== null &&
    run.status === 'dispatching' &&
    (await findLiveLease(context.db, claim)) === null
  ) {
    await finishRun(context, claim, { status: 'cancelled', stopReason: 'aborted' })
    return true
  }
  try {
    await attach(context, claim, turn, runtime, signal)
    return true
  } catch (error) {
    if (error instanceof ProvisionFailed) {
      context.log.warn({ err: error, runId: run.id }, 'a sandbox could not be made')
      await loseAttempt(context, claim, { sandboxLost: false, outcome: executionLost })
      return true
    }
    if (
      error instanceof SandboxGoneError ||
      error instanceof SandboxFrozenError ||
      error instanceof SupervisorProtocolError
    ) {
      await loseSandbox(context, claim, error)
      return true
    }
    throw error
  }
}

/** A Run that cannot be run here at all ends before anything is made for it. */
function refuseRuntime(context: ExecutionContext, id: string | null, entry: RuntimeEntry | null): Outcome | null {
  if (entry !== null) return null
  if (id === null && context.defaultModel === null) {
    return { status: 'failed', stopReason: 'error', errorCode: 'model_not_configured' }
  }
  return { status: 'failed', stopReason: 'error', errorCode: 'runtime_unavailable' }
}

/** The sandbox is gone, frozen or no longer speaks the protocol: end what is left of it, then the attempt. */
async function loseSandbox(context: ExecutionContext, claim: Claim, cause: Error): Promise<void> {
  context.log.warn({ err: cause, runId: claim.run.id }, 'a sandbox was lost')
  const lease = await findLiveLease(context.db, claim)
  // Under the fence the row decides first: only then may the sandbox of a living claim be destroyed.
  await loseAttempt(context, claim, { sandboxLost: true, outcome: executionLost })
  if (lease !== null) await context.driver.destroy(lease.id)
}

async function attach(
  context: ExecutionContext,
  claim: Claim,
  turn: TurnRow,
  runtime: RuntimeEntry,
  signal: AbortSignal,
): Promise<void> {
  const { limits } = context
  await provision(context, claim, runtime)
  const lease = await findLiveLease(context.db, claim)
  if (lease === null) throw new ClaimLost()
  await placeInputs(context, lease.id, turn)
  const interrupt = new AbortController()
  const stream = await context.driver.attach(lease.id, signal)
  await using connection = await SupervisorConnection.open(stream, {
    fence: claim.token,
    from: lease.replay_from,
    helloDeadlineMs: limits.pingMs,
    signal: AbortSignal.any([signal, interrupt.signal]),
  })
  const attempt = new Attempt(context, { claim, turn, runtime, lease, connection })
  using _watch = watch(context, claim, lease.bound_at, attempt, connection, reason => interrupt.abort(reason))
  await attempt.run()
}

/** Puts a Turn's files where its message says they are. Again after a handover: the same bytes to the same place. */
async function placeInputs(context: ExecutionContext, leaseId: string, turn: TurnRow): Promise<void> {
  if (turn.files.length === 0) return
  const files = await Promise.all(
    turn.files.map(async file => ({ name: file.name, content: await buffer(await context.blobs.get(file.sha256)) })),
  )
  await context.driver.writeInputs(leaseId, turn.sequence, files)
}

/**
 * Watches over an attempt: cancellation and its grace, the deadlines of start and Run, and a supervisor that has gone
 * silent. Each ends the agent or interrupts the connection; what follows is decided by the attempt.
 */
function watch(
  context: ExecutionContext,
  claim: Claim,
  boundAt: Date,
  attempt: Attempt,
  connection: SupervisorConnection,
  interrupt: (reason: Error) => void,
): Disposable {
  const { limits, clock } = context
  const timers = new Set<NodeJS.Timeout>()
  const later = (work: () => Promise<void>, delayMs: number) => {
    const timer = setTimeout(
      () => {
        timers.delete(timer)
        work().catch(interrupt)
      },
      Math.max(0, delayMs),
    )
    timers.add(timer)
  }
  let cancelling = false
  const look = async () => {
    if (cancelling) return
    const run = await findRun(context.db, claim, claim.run.id)
    if (run === null || run.ended_at !== null) throw new ClaimLost()
    if (run.cancel_requested_at === null) return
    cancelling = true
    later(() => attempt.stop({ status: 'cancelled', stopReason: 'aborted' }, 'grace'), limits.cancelGraceMs)
    await attempt.cancel()
  }
  const lookAgain = () => {
    look().catch(error => {
      // A database that is away is the attempt's to notice, when it has something to write.
      if (!(error instanceof DatabaseUnavailable)) interrupt(error)
    })
  }
  const unsubscribe = context.wakeups.subscribe(topics.control(claim.organizationId, claim.sessionId), lookAgain)
  lookAgain()

  later(async () => {
    if (attempt.prompted) return
    context.log.warn({ runId: claim.run.id }, 'a runtime did not start in time')
    await attempt.stop({ status: 'failed', stopReason: 'error', errorCode: 'runtime_start_failed' }, 'start')
  }, limits.agentStartMs)

  const startedAt = claim.run.started_at ?? clock.now()
  const deadline = Math.min(startedAt.getTime() + limits.runMs, boundAt.getTime())
  later(
    () =>
      attempt.stop(
        { status: 'crashed', stopReason: 'execution_deadline', errorCode: 'turn_execution_lost' },
        'deadline',
      ),
    Math.min(deadline - clock.now().getTime(), 2 ** 31 - 1),
  )

  const pulse = async () => {
    await connection.ping(limits.pingMs)
    lookAgain()
    later(pulse, limits.pingMs / 2)
  }
  later(pulse, limits.pingMs / 2)

  return {
    [Symbol.dispose]() {
      unsubscribe()
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    },
  }
}

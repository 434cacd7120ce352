import { setTimeout as sleep } from 'node:timers/promises'
import { dropParkedCheckpoint } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { NATIVE_RUNTIME, type RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import { listUndelivered, listUnheard } from '@berth/core/sessions/interactions/interaction-sql.ts'
import { findLiveLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { sessionRedactor } from '@berth/core/sessions/log/session-redactor.ts'
import { releaseFence } from '@berth/core/sessions/runs/fence-sql.ts'
import type { Outcome, RunRow } from '@berth/core/sessions/runs/run.ts'
import { findRunBudgets } from '@berth/core/sessions/runs/run-budgets.ts'
import { findRun } from '@berth/core/sessions/runs/run-sql.ts'
import type { SessionRow } from '@berth/core/sessions/session/session.ts'
import { findSession } from '@berth/core/sessions/session/session-sql.ts'
import type { TurnRow } from '@berth/core/sessions/turns/turn.ts'
import { findTurn, listSteering } from '@berth/core/sessions/turns/turn-sql.ts'
import { allSettled } from '@berth/platform/kit/all-settled.ts'
import { orAborted } from '@berth/platform/kit/or-aborted.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { observed, recordPast } from '@berth/platform/telemetry/observe.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { isHostAway } from '@berth/sandboxes/line/line-error.ts'
import { EnvironmentFailed } from './apply/apply-failed.ts'
import { environmentOfLease, gitSettingsOfLease } from './apply/lease-environment.ts'
import { RunAttempt } from './attempt/run-attempt.ts'
import { type Approaches, UnreachedEnd, watchApproach } from './attempt/watch-approach.ts'
import { watchAttempt } from './attempt/watch-attempt.ts'
import { ClaimLost, type RunClaim } from './claim/claim.ts'
import { type ExecutionContext, modelOf } from './claim/execution-context.ts'
import { endClaimedRun, executionLost, giveBackUnplaced, loseAttempt } from './claim/finish.ts'
import { taskOf } from './claim/hold-sql.ts'
import { underFence } from './claim/under-fence.ts'
import { SupervisorConnection } from './supervisor/connection.ts'
import { ConnectionClosedError, FenceLostError, failureFields, isSandboxLost } from './supervisor/errors.ts'
import { sealBaseAhead } from './workspace/base-seal.ts'
import { BringFailed, bringCommits, settlePlacing } from './workspace/bring-commits.ts'
import { freezeAtRest, freezeToSeal } from './workspace/freeze-lease.ts'
import { parkRun } from './workspace/park-run.ts'
import { placeInputs } from './workspace/place-inputs.ts'
import { HostSpent, isLostWithHost, ProvisionFailed, provision } from './workspace/provision.ts'
import { ResumeUnavailable } from './workspace/restore-session.ts'
import { sealRun } from './workspace/seal-run.ts'
import { SourceUnavailable } from './workspace/session-source.ts'

/** Delay before a retry while the database or a connection is away. */
const RETRY_MS = 250
/** A supervisor may close this many connections in a row without sending anything new; then it counts as broken. */
const MAX_VAIN_CONNECTIONS = 10

/**
 * Executes a claimed Run to its end, or until the claim is lost or the worker stops.
 *
 * After any failure, the rows and the journal say where to continue. So a lost database, a broken connection and a dead
 * predecessor are all handled by reading them again. It never throws. A fault of the service is logged and costs a
 * handover; handovers are counted, so a Run that kills its workers ends.
 */
export async function executeRun(context: ExecutionContext, claim: RunClaim, signal: AbortSignal): Promise<void> {
  recordQueued(context, claim)
  const over = new AbortController()
  try {
    await workOff(context, claim, signal, over.signal)
  } finally {
    over.abort()
  }
  context.git.retire(claim)
  if (signal.aborted) return
  // Most Runs are sealed, which froze their sandboxes. The sweeper freezes any that this misses.
  await freezeAtRest(context, claim).catch(error => {
    context.log.warn({ ...failureFields(error), sessionId: claim.sessionId }, 'a sandbox could not be frozen yet')
  })
}

/** Tells how long a Run waited for a worker; one that is taken over, or begins again, waited before. */
function recordQueued({ clock }: ExecutionContext, claim: RunClaim): void {
  const { attempts, handovers, status, queued_at: queuedAt } = claim.run
  if (status !== 'dispatching' || attempts > 1 || handovers > 0) return
  recordPast(claim, 'queue', { beganMs: queuedAt.getTime(), endedMs: clock.now().getTime() })
}

async function workOff(
  context: ExecutionContext,
  claim: RunClaim,
  signal: AbortSignal,
  over: AbortSignal,
): Promise<void> {
  const vain = { offset: -1, count: 0 }
  const known: Known = { claimed: claim.run, vain, unparkable: false, overSince: null, over }
  for (;;) {
    try {
      if (await step(context, claim, signal, known)) return
    } catch (error) {
      if (error instanceof ClaimLost || error instanceof FenceLostError || signal.aborted) return
      const passes = error instanceof DatabaseUnavailable || error instanceof ConnectionClosedError || isHostAway(error)
      if (!passes) {
        context.log.error({ err: error, runId: claim.run.id, sessionId: claim.sessionId }, 'executing a run failed')
        return
      }
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
  }
}

/** State that an execution has gathered. */
interface Known extends Approaches {
  /** The Run as the claim found it, until the first step. */
  claimed: RunRow | null
  /** Consecutive connections that committed nothing of the journal, and its offset then. */
  vain: { offset: number; count: number }
  /** The Run could not be parked and keeps its sandbox. */
  unparkable: boolean
  /** Aborts once this worker does nothing more for the Run. */
  readonly over: AbortSignal
}

/**
 * Takes the next step that the rows call for.
 *
 * @returns true if nothing is left to do
 */
async function step(context: ExecutionContext, given: RunClaim, signal: AbortSignal, known: Known): Promise<boolean> {
  const run = known.claimed ?? (await findRun(context.db, given, given.runId))
  known.claimed = null
  if (run === null || run.status === 'queued') return true
  const claim: RunClaim = { ...given, run }
  if (run.ended_at !== null) {
    if ((await taskOf(context.db, claim)) === 'seal') await sealEnded(context, claim, signal)
    return true
  }
  if (run.handovers > context.limits.maxHandovers) {
    context.log.error({ runId: run.id, handovers: run.handovers }, 'a run keeps losing its workers')
    await endClaimedRun(context, claim, executionLost)
    return true
  }
  const runtime = context.runtimes.find(run.runtime ?? NATIVE_RUNTIME)
  const refused = refuseAuthority(claim) ?? refuseRuntime(context, run, runtime)
  if (refused !== null || runtime === null) {
    await endClaimedRun(context, claim, refused ?? executionLost)
    return true
  }
  // Nothing exists for it yet, or only its checkpoint is left.
  if (run.cancel_requested_at !== null && (await findLiveLease(context.db, claim)) === null) {
    await endClaimedRun(context, claim, { status: 'cancelled', stopReason: 'aborted' })
    return true
  }
  try {
    if ((await attach(context, claim, runtime, signal, known)) === 'again') return false
    if ((await taskOf(context.db, claim)) === 'seal') await sealEnded(context, claim, signal)
    return true
  } catch (error) {
    if (signal.aborted) throw error
    if (error instanceof UnreachedEnd) {
      context.log.warn({ runId: run.id, outcome: error.outcome }, 'a run ended while its host did not answer')
      await endClaimedRun(context, claim, error.outcome)
      return false
    }
    if (error instanceof EnvironmentFailed) {
      context.log.info({ err: error, runId: run.id }, 'a run ended with the apply of its environment')
      return true
    }
    if (error instanceof ResumeUnavailable) {
      context.log.warn({ err: error, runId: run.id }, 'a session could not be resumed')
      await endClaimedRun(context, claim, { status: 'failed', stopReason: 'error', errorCode: 'resume_unavailable' })
      return true
    }
    if (error instanceof SourceUnavailable) {
      context.log.warn({ err: error, runId: run.id }, 'the repository of a session is not available')
      const outcome = { status: 'failed', stopReason: 'error', errorCode: 'source_unavailable' } as const
      await endClaimedRun(context, claim, { ...outcome, summary: error.message })
      return true
    }
    if (error instanceof BringFailed) {
      context.log.info({ err: error, runId: run.id }, 'commits could not be brought into a workspace')
      const outcome = { status: 'failed', stopReason: 'error', errorCode: error.code } as const
      await endClaimedRun(context, claim, { ...outcome, summary: error.message })
      return false
    }
    if (error instanceof HostSpent && (await giveBackUnplaced(context, claim))) return true
    // A parked Run keeps its checkpoint and is tried again from it; each try counts as a handover.
    if (error instanceof ProvisionFailed && run.status === 'dispatching') {
      context.log.warn({ err: error, runId: run.id }, 'a sandbox could not be made')
      const hostLost = isLostWithHost(context, error)
      await loseAttempt(context, claim, { sandboxLost: false, hostLost, outcome: executionLost })
      return true
    }
    if (isSandboxLost(error) || (error instanceof ConnectionClosedError && (await isBroken(context, claim, known)))) {
      await loseSandbox(context, claim, error)
      return true
    }
    throw error
  }
}

/** Whether a sandbox may be gone because its machine is. */
const isElsewhere = ({ driver }: ExecutionContext): boolean => driver.kind === 'remote'

/** Seals an ended Run. If sealing keeps losing its workers, the Run goes without a checkpoint. */
async function sealEnded(context: ExecutionContext, claim: RunClaim, signal: AbortSignal): Promise<void> {
  if (claim.run.handovers <= context.limits.maxHandovers) {
    await freezeToSeal(context, claim, signal)
    await settlePlacing(context, claim, signal)
    return sealRun(context, claim, signal)
  }
  context.log.error({ runId: claim.runId }, 'sealing a run keeps losing its workers')
  await underFence(context, claim, async tx => {
    await dropParkedCheckpoint(tx, claim, claim.runId)
    await releaseFence(tx, claim)
  })
}

/** Returns true if a supervisor has too often accepted a connection and closed it again. */
async function isBroken(context: ExecutionContext, claim: RunClaim, { vain }: Known): Promise<boolean> {
  const { journal_offset: offset = -1 } = (await findLiveLease(context.db, claim)) ?? {}
  vain.count = offset === vain.offset ? vain.count + 1 : 1
  vain.offset = offset
  return vain.count > MAX_VAIN_CONNECTIONS
}

/** Refuses to begin a Run whose authority ended while it waited for a worker. */
const refuseAuthority = ({ revoked, run }: RunClaim): Outcome | null =>
  revoked && run.status === 'dispatching'
    ? { status: 'failed', stopReason: 'error', errorCode: 'authority_revoked_dispatch' }
    : null

/** Refuses a Run that cannot run here before anything is made for it. */
function refuseRuntime(context: ExecutionContext, run: RunRow, entry: RuntimeEntry | null): Outcome | null {
  const id = run.runtime
  const lacksModel = id === null || entry?.modelEnv !== undefined
  if (lacksModel && modelOf(context, run, entry) === null) {
    return { status: 'failed', stopReason: 'error', errorCode: 'model_not_configured' }
  }
  const missing = entry === null ? 'it is not in the catalog' : missingAt(context, entry)
  if (missing === null) return null
  context.log.warn({ runId: run.id, runtime: id, missing }, 'a runtime is not available')
  return { status: 'failed', stopReason: 'error', errorCode: 'runtime_unavailable' }
}

/** Returns why the host of a Run cannot run its runtime; null if it can. */
function missingAt({ installed }: ExecutionContext, { id, missing }: RuntimeEntry): string | null {
  if (installed === undefined || missing === undefined) return missing?.() ?? null
  return installed().includes(id) ? null : 'its host has not installed it'
}

/**
 * Ends the lease of a sandbox that is gone, frozen or no longer speaks the protocol; the sweeper then destroys the
 * sandbox.
 */
async function loseSandbox(context: ExecutionContext, claim: RunClaim, cause: Error): Promise<void> {
  context.log.warn({ ...failureFields(cause), runId: claim.run.id }, 'a sandbox was lost')
  await loseAttempt(context, claim, { sandboxLost: true, hostLost: isElsewhere(context), outcome: executionLost })
  context.wakeups.publish(topics.leases)
}

/** Returns whether people look after a Turn: nobody does for what a trigger sends, nor in a hidden Session. */
const hasPeople = (session: SessionRow | null, { author_kind: author }: TurnRow): boolean =>
  session !== null && !session.is_trial && (session.trigger_id === null || author === 'person')

async function attach(
  context: ExecutionContext,
  claim: RunClaim,
  runtime: RuntimeEntry,
  signal: AbortSignal,
  known: Known,
): Promise<'done' | 'again'> {
  const { db, driver, gateway, limits } = context
  // Reads everything that needs no sandbox while the sandbox is being made.
  const reading = Promise.all([
    findTurn(db, claim, claim.run.turn_id),
    findSession(db, claim),
    findRunBudgets(db, claim.organizationId, context.budgets),
  ])
  reading.catch(() => undefined)
  using approach = watchApproach(
    context,
    claim,
    { budgets: reading.then(([, , found]) => found), approaches: known },
    signal,
  )
  const onTheWay = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      // Whatever breaks meanwhile, breaks because the worker has stopped to wait.
      approach.signal.throwIfAborted()
      throw error
    })
  const provided = await onTheWay(provision(context, claim, runtime, approach.signal))
  const [turn, session, budgets] = await reading
  if (turn === null) throw new Error(`run ${claim.runId} has no turn`)
  const lease = await onTheWay(bringCommits(context, claim, { runtime, lease: provided, turn }, approach.signal))
  await onTheWay(orAborted(placeInputs(context, lease.id, turn), approach.signal))
  const interrupt = new AbortController()
  await using held = new AsyncDisposableStack()
  const connect = async () =>
    SupervisorConnection.open(await driver.attach(lease.id, approach.signal), {
      fence: claim.token,
      from: lease.replay_from,
      helloDeadlineMs: limits.pingMs,
      signal: AbortSignal.any([approach.signal, interrupt.signal]),
    })
  const [connection, waiting, unheard, steering, redactor, environment] = await onTheWay(
    allSettled([
      observed(claim, 'attach', connect).then(opened => held.use(opened)),
      listUndelivered(db, lease.id),
      listUnheard(db, claim, claim.runId, lease.id),
      listSteering(db, claim, claim.runId),
      sessionRedactor(db, claim),
      environmentOfLease(db, lease),
      gitSettingsOfLease(db, lease).then(settings => held.use(context.git.open(claim, lease.id, settings))),
      gateway.open(claim, lease.id, budgets).then(opened => held.use(opened)),
      held.use(context.network.open(claim, lease.id, { asksPeople: hasPeople(session, turn) })),
    ]),
  )
  const cwd = session?.source ? insidePaths.project : insidePaths.workspace
  const background = session?.background?.leaseId === lease.id ? session.background.commands : []
  const reported = { plan: session?.plan ?? null, background }
  const isTitleDerived = session?.title_is_derived === true
  const rows = { claim, turn, lease, waiting, unheard, steering, budgets, reported, isTitleDerived }
  const onPrompt = () => sealBaseAhead(context, lease, known.over)
  const attempt = new RunAttempt(context, { ...rows, runtime, connection, cwd, redactor, environment, onPrompt })
  // A foreign agent may be unable to continue in the middle of a prompt, so only native Runs are parked.
  const parks = runtime.id === NATIVE_RUNTIME && !known.unparkable
  const watched = { claim, lease, attempt, connection, parks, budgets }
  // The agent is reached: from here on it is asked to stop.
  approach[Symbol.dispose]()
  // A sandbox of before says nothing of whether the host still makes any.
  if (lease.agent_state === 'none') await context.rest?.end()
  known.overSince = null
  using _watch = watchAttempt(context, watched, reason => interrupt.abort(reason))
  await attempt.run()
  if (!attempt.parking) {
    // Before the Run is sealed, which may take minutes.
    context.git.retire(claim)
    return 'done'
  }
  const outcome = await parkRun(context, claim, signal)
  known.unparkable = outcome === 'unsealed'
  return outcome === 'parked' ? 'done' : 'again'
}

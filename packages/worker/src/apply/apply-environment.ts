import type { StoredDocument } from '@berth/core/environments/document.ts'
import type { ExtensionResult } from '@berth/core/environments/extensions/find-extensions.ts'
import { requireDocumentOfLease } from '@berth/core/environments/fix-environment.ts'
import type { RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import { type ApplyReport, applyEvent } from '@berth/core/sessions/leases/apply-report.ts'
import { attachApplied, markApplying, saveApplied } from '@berth/core/sessions/leases/apply-sql.ts'
import { endLease } from '@berth/core/sessions/leases/end-lease.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { sessionRedactor } from '@berth/core/sessions/log/session-redactor.ts'
import { endRun } from '@berth/core/sessions/runs/end-run.ts'
import { addForeignTime, findRun } from '@berth/core/sessions/runs/run-sql.ts'
import { markApplied } from '@berth/core/sessions/session/session-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import type { Claim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { announce } from '../claim/finish.ts'
import { underFence } from '../claim/under-fence.ts'
import { isSandboxLost } from '../supervisor/errors.ts'
import { ApplyFailed, EnvironmentFailed } from './apply-failed.ts'
import type { ApplyParts, ApplyStep, FurtherSteps } from './apply-parts.ts'
import { cloneStep } from './clone-step.ts'
import { extensionsStep } from './extensions-step.ts'
import { githubStep } from './github-step.ts'
import { imageStep } from './image-step.ts'
import { isPassing } from './is-passing.ts'
import { environmentOfLease } from './lease-environment.ts'
import { OutputReporter } from './output-reporter.ts'
import { packagesStep } from './packages-step.ts'
import { restoreCacheStep } from './restore-cache.ts'
import { saveCacheStep } from './save-cache.ts'
import { type SetupExports, sealExports } from './setup-exports.ts'
import { setupStep } from './setup-step.ts'
import { watchApply } from './watch-apply.ts'

/** The steps of every apply, in order. */
const steps: readonly ApplyStep[] = [
  packagesStep,
  githubStep,
  restoreCacheStep,
  cloneStep,
  setupStep,
  imageStep,
  extensionsStep,
  saveCacheStep,
]

/** Steps whose work an image holds. */
const stepsOfImage: readonly string[] = [setupStep, imageStep].map(({ name }) => name)

type PrebuiltStart =
  | { readonly state: 'used'; readonly exports: SetupExports }
  | (NonNullable<ApplyReport['prebuilt']> & { readonly state: 'building' | 'unavailable' })

/** What a fresh sandbox holds before its environment is applied. */
export interface FreshSandbox {
  /** True if a checkpoint was restored. */
  readonly restored: boolean
  /** True if the Session has a launch repository. */
  readonly hasSource: boolean
  /** How it stands to the image of its environment; null if the environment wants none. */
  readonly prebuilt: PrebuiltStart | null
  /** How it stands to the system packages of its environment; null if the environment names none. */
  readonly packages: NonNullable<ApplyReport['packages']> | null
  /** The document's extensions, as far as the sandbox was made with them. */
  readonly extensions: readonly ExtensionResult[]
}

/**
 * Applies the environment of a lease to its sandbox, or goes on where an earlier worker died, and attaches the lease.
 *
 * `started` is committed before the first step (`begin-early.ts` for one that precedes the sandbox), and each result before the next step. The terminal Event is part of the
 * transaction that attaches the lease or ends it. The processes inside belong to the supervisor, so nothing of them
 * runs twice (`run-program.ts`).
 *
 * @param fresh null if the lease is in `applying` already
 * @param further steps behind those of every apply
 * @returns the attached lease
 * @throws EnvironmentFailed if it failed; the lease has ended, and so has the Run of the claim
 * @throws SandboxGoneError, SandboxFrozenError, SupervisorProtocolError if the sandbox is lost
 * @throws ClaimLost, FenceLostError, DatabaseUnavailable, or the signal's reason: another worker goes on
 */
export async function applyEnvironment(
  context: ExecutionContext,
  claim: Claim,
  runtime: RuntimeEntry,
  lease: LeaseRow,
  fresh: FreshSandbox | null,
  signal: AbortSignal,
  further: FurtherSteps | null = null,
): Promise<LeaseRow> {
  const document = await requireDocumentOfLease(context.db, lease)
  const all = [...steps, ...(further?.steps ?? [])]
  const begun = fresh === null ? lease : await begin(context, claim, lease, document, fresh, all)
  if (begun.state === 'attached') return begun
  const leftMs = further === null ? undefined : further.endsAt.getTime() - context.clock.now().getTime()
  using watch = watchApply(context, claim, signal, leftMs)
  try {
    const applied = await carryOut(context, claim, runtime, begun, { document, all }, watch.signal)
    // What setup left running belongs to the sandbox: a cancelled Run does not take it along.
    await context.driver.keepOrphans(applied.id)
    const attached = await underFence(context, claim, tx => attach(tx, context, claim, applied.id))
    notify(context, claim)
    return attached
  } catch (error) {
    if (error instanceof ApplyFailed) return fail(context, claim, error)
    if (isPassing(error) || signal.aborted || isSandboxLost(error)) throw error
    context.log.error({ err: error, sessionId: claim.sessionId, leaseId: lease.id }, 'applying an environment failed')
    return fail(context, claim, new ApplyFailed('apply_failed'))
  }
}

/**
 * Appends `started`, unless that was done when packages were installed; if there is nothing to do, the same transaction
 * attaches the lease.
 */
async function begin(
  context: ExecutionContext,
  claim: Claim,
  lease: LeaseRow,
  document: StoredDocument,
  { restored, hasSource, extensions, prebuilt, packages }: FreshSandbox,
  all: readonly ApplyStep[],
): Promise<LeaseRow> {
  const done = prebuilt?.state === 'used' ? stepsOfImage : []
  const isIdle = !all.some(step => step.isDue(document) && !done.includes(step.name))
  const begun = await underFence(context, claim, async tx => {
    const now = context.clock.now()
    const run = claim.runId === null ? {} : { runId: claim.runId }
    const shown = extensions.length === 0 ? {} : { extensions: [...extensions] }
    const found = {
      ...shown,
      ...(prebuilt === null ? {} : reportPrebuilt(tx, lease, prebuilt)),
      ...(packages === null ? {} : { packages: reportPackages(packages) }),
    }
    const report = { startedAt: now.toISOString(), name: document.name, ...run, restored, hasSource, done, ...found }
    const applying = await markApplying(tx, lease.id, report)
    if (!applying.had_begun) await appendEvents(tx, claim, [applyEvent(applying, 'started', now)], now)
    return isIdle && lease.environment_secrets !== null ? attach(tx, context, claim, lease.id) : applying
  })
  notify(context, claim)
  return begun
}

/** Returns what the report says of an image from the beginning. What setup exported then holds for this lease as well. */
function reportPrebuilt(tx: Queryable, lease: LeaseRow, prebuilt: PrebuiltStart): Partial<ApplyReport> {
  if (prebuilt.state !== 'used') return { prebuilt }
  return { prebuilt: { state: 'used' }, exports: sealExports(tx, lease, prebuilt.exports) }
}

function reportPackages({
  state,
  reason,
}: NonNullable<FreshSandbox['packages']>): NonNullable<ApplyReport['packages']> {
  return { state, ...(reason !== undefined && { reason }) }
}

/** Takes the steps that are not done yet. @returns the lease behind the last one */
async function carryOut(
  context: ExecutionContext,
  claim: Claim,
  runtime: RuntimeEntry,
  begun: LeaseRow,
  { document, all }: { readonly document: StoredDocument; readonly all: readonly ApplyStep[] },
  signal: AbortSignal,
): Promise<LeaseRow> {
  const { db } = context
  const environment = await environmentOfLease(db, begun)
  if (environment === null) throw new Error(`lease ${begun.id} has no environment`)
  const output = new OutputReporter(context, claim, begun, await sessionRedactor(db, claim))
  using git = context.git.open(claim, begun.id, document)
  let lease = begun
  for (const step of all) {
    const report = reportOf(lease)
    if (report.done.includes(step.name) || !step.isDue(document)) continue
    signal.throwIfAborted()
    if (step.withoutCredentials) git[Symbol.dispose]()
    const { restored, hasSource } = report
    const cwd = hasSource ? insidePaths.project : insidePaths.workspace
    const fixed = { context, claim, runtime, document, environment, output }
    const parts: ApplyParts = { ...fixed, lease, report, restored, hasSource, cwd }
    const result = await step.run(parts, signal)
    const patch = { ...result, done: [...report.done, step.name] }
    lease = await underFence(context, claim, tx => saveApplied(tx, lease.id, patch))
  }
  signal.throwIfAborted()
  return lease
}

function reportOf({ id, apply }: LeaseRow): ApplyReport {
  if (apply === null) throw new Error(`no environment is applied to lease ${id}`)
  return apply
}

/** Attaches the lease and appends `succeeded`. The apply is no part of the time of a Run that had begun before. */
async function attach(tx: Queryable, context: ExecutionContext, claim: Claim, leaseId: string): Promise<LeaseRow> {
  const now = context.clock.now()
  const attached = await attachApplied(tx, leaseId, now)
  const { environment_id: environmentId, environment_revision: revision } = attached
  if (environmentId !== null && revision !== null) await markApplied(tx, claim, environmentId, revision)
  await appendEvents(tx, claim, [applyEvent(attached, 'succeeded', now)], now)
  const spentMs = now.getTime() - Date.parse(reportOf(attached).startedAt)
  if (claim.runId !== null) await addForeignTime(tx, claim, claim.runId, Math.max(0, spentMs))
  return attached
}

/** Ends the lease, and the Run of the claim, which never begins on this sandbox. */
async function fail(context: ExecutionContext, claim: Claim, { code, applied }: ApplyFailed): Promise<never> {
  await underFence(context, claim, async tx => {
    const now = context.clock.now()
    await endLease(tx, claim, 'abandoned', now, { applyError: code, applied })
    if (claim.runId === null) return
    const run = await findRun(tx, claim, claim.runId)
    const cancelled = run !== null && run.cancel_requested_at !== null
    const outcome = cancelled
      ? ({ status: 'cancelled', stopReason: 'aborted' } as const)
      : ({ status: 'failed', stopReason: 'error', errorCode: 'environment_setup_failed' } as const)
    await endRun(tx, claim, claim.runId, outcome, now)
  })
  announce(context, claim)
  context.wakeups.publish(topics.leases)
  throw new EnvironmentFailed(`an environment could not be applied: ${code}`)
}

function notify({ wakeups }: ExecutionContext, { organizationId, sessionId }: Claim): void {
  wakeups.publish(topics.session(organizationId, sessionId))
}

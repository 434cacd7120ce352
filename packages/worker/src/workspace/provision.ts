import { randomUUID } from 'node:crypto'
import { readEgressPolicy } from '@berth/core/accounts/organizations/egress-policy.ts'
import { isNewestWorkSealed } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { type FoundExtension, findExtensions, shownOf } from '@berth/core/environments/extensions/find-extensions.ts'
import { fixEnvironment, readFixedDocument } from '@berth/core/environments/fix-environment.ts'
import { takeRoom } from '@berth/core/hosts/pod-host-sql.ts'
import { findProbeOfSession } from '@berth/core/releases/probe-sql.ts'
import { objectsOf } from '@berth/core/repositories/mirrors.ts'
import { NATIVE_RUNTIME, type RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import { endLease } from '@berth/core/sessions/leases/end-lease.ts'
import { isNearBound, workEndsAt } from '@berth/core/sessions/leases/lease-bound.ts'
import { markTree } from '@berth/core/sessions/leases/lease-image-sql.ts'
import { findLiveLease, insertLease, type LeaseRow, markAttached } from '@berth/core/sessions/leases/lease-sql.ts'
import { rememberSecrets } from '@berth/core/sessions/log/session-redactor.ts'
import { findRun, hasEarlierWork } from '@berth/core/sessions/runs/run-sql.ts'
import { readBinding } from '@berth/core/sessions/session/session-sql.ts'
import { orAborted } from '@berth/platform/kit/or-aborted.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Note, observed } from '@berth/platform/telemetry/observe.ts'
import type { LowerTrees } from '@berth/sandboxes/driver.ts'
import { isHostAway } from '@berth/sandboxes/line/line-error.ts'
import { OverlayError } from '@berth/sandboxes/linux/overlay.ts'
import { applyEnvironment, type FreshSandbox } from '../apply/apply-environment.ts'
import { type Claim, ClaimLost } from '../claim/claim.ts'
import { type ExecutionContext, egressOf } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'
import { isSandboxLost } from '../supervisor/errors.ts'
import { beginChecks } from './check-steps.ts'
import { findCheckout, nameCheckout } from './kept-checkout.ts'
import { findPackages } from './package-layer.ts'
import { findPrebuilt, placeImage } from './prebuilt-start.ts'
import { type LongStep, reportIfLong } from './report-if-long.ts'
import { findCheckpoint, ResumeUnavailable, restoreSession } from './restore-session.ts'
import { placeSource, type ReadySource, readySource, SourceUnavailable } from './session-source.ts'

/** The sandbox could not be made at all, or not in time, or it was lost before it was set up. */
export class ProvisionFailed extends Error {
  override readonly name = 'ProvisionFailed'
}

/** Returns whether a sandbox could not be made because its host went away, which is no fault of the Run or the restore. */
export const isLostWithHost = ({ driver }: Pick<ExecutionContext, 'driver'>, failed: ProvisionFailed): boolean =>
  isHostAway(failed) || (driver.kind === 'remote' && isSandboxLost(failed.cause))

/** The host has no room for a sandbox any more: it is a pod that has had its own. */
export class HostSpent extends Error {
  override readonly name = 'HostSpent'

  constructor(host: string) {
    super(`host ${host} gets no further sandbox`)
  }
}

/** The Session was archived meanwhile, so nothing more may be made for it. */
export class SessionArchived extends Error {
  override readonly name = 'SessionArchived'
}

/**
 * Returns the Session's lease with its sandbox, or makes a fresh sandbox, restores the Session's work into it and applies
 * its environment. A sandbox whose environment a predecessor was applying is gone on with.
 *
 * The lease's row is committed before the sandbox is made, so a crash leaves a row to find it by, and never a sandbox
 * without one. The sweeper destroys leftover sandboxes, so a hung teardown never delays a Run. A sandbox close to its
 * bound is replaced before a Run begins on it, if that loses no work or if work on it must end anyway.
 *
 * @throws ProvisionFailed, HostSpent, SessionArchived, ResumeUnavailable, SourceUnavailable, ClaimLost, or the signal's reason
 * @throws EnvironmentFailed if the environment could not be applied; the Run of the claim has ended
 */
export function provision(
  context: ExecutionContext,
  claim: Claim,
  runtime: RuntimeEntry,
  signal: AbortSignal,
): Promise<LeaseRow> {
  return observed(claim, 'provision', note => provideLease(context, claim, runtime, signal, note))
}

async function provideLease(
  context: ExecutionContext,
  claim: Claim,
  runtime: RuntimeEntry,
  signal: AbortSignal,
  note: Note,
): Promise<LeaseRow> {
  const { db, driver, clock } = context
  const live = await findLiveLease(db, claim)
  const retired = live?.state === 'attached' && (await isToRetire(context, claim, live))
  note({ 'berth.sandbox.fresh': live === null || retired || live.state === 'creating' })
  const remember = (tx: Queryable) => rememberSecrets(tx, claim, 'runtime', runtime.secrets ?? [], clock.now())
  if (live?.state === 'applying') return apply(context, claim, runtime, live, null, signal)
  if (live?.state === 'attached' && !retired) {
    // The agent's next process may get values that the configuration lacked when the lease was written.
    if (runtime.secrets !== undefined && runtime.secrets.length > 0) await underFence(context, claim, remember)
    await orAborted(driver.serveProxy(live.id, await egressOf(context, live, runtime)), signal)
    await orAborted(driver.thaw(live.id), signal)
    return live
  }
  const lease = await underFence(context, claim, async tx => {
    // The worker may have taken the fence while an archiving had freed it and not yet committed.
    const { archived, environmentId } = await readBinding(tx, claim)
    if (archived) throw new SessionArchived()
    // Otherwise a predecessor died while making this sandbox, and its progress is unknown.
    if (live !== null) await endLease(tx, claim, retired ? 'expired' : 'abandoned', clock.now())
    if (driver.kind === 'remote' && !(await takeRoom(tx, context.host))) return null
    const now = clock.now()
    const { organizationId } = claim
    const policy = await readEgressPolicy(tx, organizationId)
    const fixed = environmentId === null ? null : await fixEnvironment(tx, { organizationId, environmentId }, policy)
    // Before the sandbox exists, so that nobody appends one of its secrets unmasked.
    await remember(tx)
    const secrets = fixed?.secrets ?? []
    const digests = await rememberSecrets(
      tx,
      claim,
      'environment',
      secrets.map(({ value }) => value),
      now,
    )
    const release = runtime.id === NATIVE_RUNTIME ? await findProbeOfSession(tx, claim, now) : null
    return insertLease(tx, claim, {
      id: randomUUID(),
      driver: driver.kind,
      host: context.host,
      runtime: runtime.id,
      idleMs: context.limits.leaseIdleMs,
      maxMs: context.limits.leaseMaxMs,
      now,
      release,
      environment: fixed && {
        id: fixed.id,
        revision: fixed.revision,
        secrets:
          fixed.secrets &&
          secrets.map(({ name, egress }, index) => ({
            name,
            digest: digests[index] ?? '',
            ...(egress !== undefined && { egress }),
          })),
        leftOut: fixed.leftOut,
      },
      neverHosts: policy.neverHosts,
    })
  })
  if (live !== null) context.wakeups.publish(topics.leases)
  if (lease === null) throw new HostSpent(context.host)
  const reporting = <T>(step: LongStep, work: () => Promise<T>) => reportIfLong(context, claim, step, work)
  let fresh: FreshSandbox
  try {
    const source = await reporting('fetch_repository', () => readySource(context, claim, signal))
    const [found, extensions, packages] = await Promise.all([
      reporting('bring_image', () => findPrebuilt(context, claim, lease, signal)),
      reporting('unpack_extensions', () => extensionsOf(context, lease, signal)),
      // It tells by itself, as the beginning of the apply.
      findPackages(context, claim, lease, signal),
    ])
    const layer = packages !== null && 'directory' in packages ? packages.directory : null
    const image = found?.state === 'used' ? found : null
    let checkout =
      source === null || image !== null
        ? null
        : await observed(claim, 'find checkout', () =>
            reporting('place_repository', () => findCheckout(context, claim, lease, source, signal)),
          )
    const base = source === null ? null : context.checkouts.nameOf(source.commit)
    let kept =
      checkout === null && image === null
        ? await observed(claim, 'find tree', () => findCheckpoint(context, claim, lease.id, base, signal))
        : null
    const content = { source, extensions, layer }
    const create = (lower: LowerTrees | null) =>
      observed(claim, 'create sandbox', () =>
        reporting('create_sandbox', () => make(context, lease, runtime, { ...content, lower }, signal)),
      )
    await create(image?.lower ?? checkout?.lower ?? kept).catch(async cause => {
      if ((checkout ?? kept) === null || !(cause instanceof OverlayError)) throw cause
      context.log.warn({ err: cause, leaseId: lease.id }, 'a sandbox cannot show a kept tree, and is made without it')
      checkout = null
      kept = null
      await underFence(context, claim, tx => markTree(tx, lease.id, null))
      await create(null)
    })
    const prebuilt =
      image === null ? found : await reporting('place_image', () => placeImage(context, image, lease.id, signal))
    const restored = await observed(claim, 'restore', () => restoreSession(context, claim, lease.id, kept, signal))
    if (source !== null && prebuilt?.state !== 'used' && !restored) {
      const tree = checkout
      await observed(claim, 'place source', () =>
        tree === null
          ? reporting('place_repository', () => placeSource(context, source, lease.id, signal))
          : nameCheckout(context, source, tree, lease.id, signal),
      )
    }
    const results = extensions.map(({ result }) => result)
    fresh = { restored, hasSource: source !== null, prebuilt, packages, extensions: results }
    if (lease.environment_id === null) {
      await underFence(context, claim, tx => markAttached(tx, lease.id, clock.now()))
      return (await findLiveLease(db, claim)) ?? { ...lease, state: 'attached' }
    }
  } catch (cause) {
    // The row keeps the progress for the next worker.
    if (signal.aborted || cause instanceof ClaimLost || cause instanceof DatabaseUnavailable) throw cause
    // Before the Run is queued again: whoever claims it next finds another host, or waits.
    if (isHostAway(cause)) await context.rest?.begin(cause)
    await underFence(context, claim, tx => endLease(tx, claim, 'abandoned', clock.now()))
    context.wakeups.publish(topics.leases)
    if (cause instanceof ResumeUnavailable || cause instanceof SourceUnavailable) throw cause
    throw new ProvisionFailed('the sandbox could not be made', { cause })
  }
  return apply(context, claim, runtime, lease, fresh, signal)
}

type ApplyArguments = Parameters<typeof applyEnvironment> extends [...infer First, unknown?] ? First : never

/** Applies the environment, or goes on with that. A sandbox that is lost meanwhile ends its lease. */
async function apply(...parts: ApplyArguments): Promise<LeaseRow> {
  const [context, claim, runtime, lease, fresh] = parts
  // Setup has nobody to ask; what it is refused is told under this claim.
  await using _network = context.network.open(claim, lease.id, { asksPeople: false, isSetup: true })
  try {
    if (fresh === null) {
      await context.driver.serveProxy(lease.id, await egressOf(context, lease, runtime))
      await context.driver.thaw(lease.id)
    }
    const further = await beginChecks(context, claim, lease)
    return await observed(claim, 'apply environment', () => applyEnvironment(...parts, further))
  } catch (cause) {
    if (!isSandboxLost(cause)) throw cause
    await underFence(context, claim, tx => endLease(tx, claim, 'lost', context.clock.now()))
    context.wakeups.publish(topics.leases)
    throw new ProvisionFailed('the sandbox was lost while its environment was applied', { cause })
  }
}

/**
 * Returns true if a fresh sandbox should replace this one. Only before a Run's first step, because its later work stays
 * there.
 */
async function isToRetire({ db, clock }: ExecutionContext, claim: Claim, lease: LeaseRow): Promise<boolean> {
  const now = clock.now()
  if (claim.runId === null || !isNearBound(lease, now)) return false
  const run = await findRun(db, claim, claim.runId)
  if (run?.status !== 'dispatching') return false
  return workEndsAt(lease) <= now || !(await hasEarlierWork(db, claim, claim.runId)) || isNewestWorkSealed(db, claim)
}

/** Unpacks the extensions of the lease's environment: a sandbox sees only those that it is made with. */
async function extensionsOf(
  context: ExecutionContext,
  lease: LeaseRow,
  signal: AbortSignal,
): Promise<readonly FoundExtension[]> {
  const { organization_id: organizationId, environment_id: environmentId, environment_revision: revision } = lease
  if (environmentId === null || revision === null) return []
  const document = await readFixedDocument(context.db, { organizationId, environmentId }, revision)
  return findExtensions(context, context.extensions, { organizationId, extensions: document.extensions }, signal)
}

/** What a sandbox is made with besides its lease. */
interface SandboxContent {
  readonly source: ReadySource | null
  readonly extensions: readonly FoundExtension[]
  /** The trees that it shows below its own files. */
  readonly lower: LowerTrees | null
  /** The directory of the layer with its system packages. */
  readonly layer: string | null
}

/** Makes the sandbox, or stops waiting for it; the sweeper then destroys a late one. */
async function make(
  context: ExecutionContext,
  lease: LeaseRow,
  runtime: RuntimeEntry,
  { source, extensions, lower, layer }: SandboxContent,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const { blobs, driver, supervisorCommand: command, bounds, limits } = context
  const { id: leaseId, engine_sha256: engineSha256 } = lease
  const { mounts, directory } = runtime
  const egress = await egressOf(context, lease, runtime)
  const optional = {
    ...(directory !== undefined && { runtime: directory }),
    ...(engineSha256 !== null && { engine: await blobs.get(engineSha256) }),
    ...(source !== null && { objects: objectsOf(source.mirror) }),
    ...(lower !== null && { lower }),
    ...(layer !== null && { layer }),
    ...(egress.authority !== undefined && { trust: await egress.authority.trust() }),
  }
  await orAborted(
    driver.create({
      leaseId,
      command,
      bounds,
      mounts,
      runtimeId: runtime.id,
      extensions: shownOf(extensions),
      egress,
      ...optional,
    }),
    AbortSignal.any([signal, AbortSignal.timeout(limits.provisionMs)]),
  )
}

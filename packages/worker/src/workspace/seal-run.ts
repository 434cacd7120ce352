import { setTimeout as sleep } from 'node:timers/promises'
import { blobsOf } from '@berth/core/checkpoints/check.ts'
import { dropParkedCheckpoint, findNewestCheckpoint, insertCheckpoint } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { SealFailed } from '@berth/core/checkpoints/errors.ts'
import type { OverCap } from '@berth/core/checkpoints/over-cap.ts'
import { platformNames } from '@berth/core/checkpoints/platform-names.ts'
import { type SealedTree, sealTree } from '@berth/core/checkpoints/seal-tree.ts'
import { findSealedImage, type SealedImage } from '@berth/core/environments/images/image-sql.ts'
import { NATIVE_RUNTIME, type RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import { omitted } from '@berth/core/sessions/artifacts/keep-artifact.ts'
import { findLiveLease, type LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import { releaseFence } from '@berth/core/sessions/runs/fence-sql.ts'
import { findRun, recordSealTime } from '@berth/core/sessions/runs/run-sql.ts'
import { markChanged } from '@berth/core/sessions/session/session-sql.ts'
import { allSettled } from '@berth/platform/kit/all-settled.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { observed } from '@berth/platform/telemetry/observe.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import { isHostAway } from '@berth/sandboxes/line/line-error.ts'
import { treeOf } from '@berth/sandboxes/tree.ts'
import { ClaimLost, type RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { announce } from '../claim/finish.ts'
import { underFence } from '../claim/under-fence.ts'
import { buildOnCheckout } from './base-seal.ts'
import { reviewRun } from './review-run.ts'
import { type SealedHome, sealHome } from './seal-home.ts'

/** Delays before a failed seal is tried again. */
const PAUSES_MS = [250, 1000, 4000] as const

/**
 * Seals an ended Run's workspace and home, makes the revision of its changes meanwhile, then releases the Session's execution. The checkpoint counts from
 * the commit that records it; until then the previous one counts. If the seal fails, the Session keeps its sandbox but
 * has no checkpoint of this Run, which `continuation` shows once the sandbox is gone, or still the one from its end.
 *
 * @throws ClaimLost, DatabaseUnavailable, or the signal's reason: another worker then seals
 */
export async function sealRun(context: ExecutionContext, claim: RunClaim, signal: AbortSignal): Promise<void> {
  const { clock, limits, log } = context
  const sealing = observed(claim, 'seal', () => sealLease(context, claim, signal))
  const [sealed, unreviewed] = await allSettled([sealing, reviewRun(context, claim, signal)])
  await underFence(context, claim, async tx => {
    const now = clock.now()
    if (sealed?.checkpoint) {
      await insertCheckpoint(tx, claim, { ...sealed.checkpoint, sealed_at: now }, limits.sealsKept)
    } else {
      await dropParkedCheckpoint(tx, claim, claim.runId)
      await markChanged(tx, claim)
    }
    const omissions = [...(sealed?.omissions ?? []), ...unreviewed]
    if (omissions.length > 0) await appendEvents(tx, claim, omissions, now)
    await recordSealTime(tx, claim, claim.runId, now)
    await releaseFence(tx, claim)
  })
  if (sealed?.checkpoint === undefined) log.warn({ runId: claim.runId }, 'a run was not sealed')
  announce(context, claim)
}

/**
 * Seals the Session's sandbox into the blob store, with retries.
 *
 * @returns the checkpoint to record; null if there is no sandbox or it could not be sealed
 */
export async function sealLease(
  context: ExecutionContext,
  claim: RunClaim,
  signal: AbortSignal,
): Promise<Sealed | null> {
  const lease = await findLiveLease(context.db, claim)
  const runtime = context.runtimes.find(claim.run.runtime ?? NATIVE_RUNTIME)
  return lease === null || runtime === null ? null : sealPatiently(context, claim, lease, runtime, signal)
}

/** The result of a seal; without a checkpoint if the tree is over a cap. */
export interface Sealed {
  readonly checkpoint?: Omit<Parameters<typeof insertCheckpoint>[2], 'sealed_at'>
  readonly omissions: readonly EventDraft[]
}

type SealParts = [
  context: ExecutionContext,
  claim: RunClaim,
  lease: LeaseRow,
  runtime: RuntimeEntry,
  signal: AbortSignal,
]

/** Retries, so that a store that is briefly away does not cost a Run's work. */
async function sealPatiently(...parts: SealParts): Promise<Sealed | null> {
  const signal = parts[4]
  for (const pauseMs of [...PAUSES_MS, null]) {
    const sealed = await seal(...parts, pauseMs === null)
    if (sealed === 'gone' || sealed === 'over_bound') return null
    if (sealed !== 'failed') return sealed
    if (pauseMs !== null) await sleep(pauseMs, undefined, { signal })
  }
  return null
}

async function seal(
  context: ExecutionContext,
  claim: RunClaim,
  lease: LeaseRow,
  runtime: RuntimeEntry,
  signal: AbortSignal,
  isLast: boolean,
): Promise<Sealed | 'gone' | 'over_bound' | 'failed'> {
  try {
    const { driver } = context
    const previous = await findNewestCheckpoint(context.db, claim)
    const image = previous === null ? await findImageOf(context, lease) : null
    const base = previous === null && image === null ? await buildOnCheckout(context, lease, signal) : null
    const shared = { blobs: context.blobs, signal }
    const workspace = await sealTree({
      ...shared,
      tree: treeOf(driver, lease.id, 'workspace'),
      limits: context.checkpointLimits.workspace,
      previous: encoded(previous?.workspace_manifest ?? image?.workspaceManifest ?? base),
      skip: platformNames,
    })
    if (workspace.kind === 'over_cap') return { omissions: [omission('workspace_checkpoint', workspace)] }
    const home = await sealHome(
      context,
      { lease, runtime, workspace, isLast },
      { ...shared, previous: encoded(previous === null ? image?.homeManifest : previous.home_manifest) },
    )
    return await toCheckpoint(context, claim, lease, runtime, workspace, home)
  } catch (error) {
    if (signal.aborted || error instanceof ClaimLost || error instanceof DatabaseUnavailable) throw error
    // The sandbox is at rest meanwhile, and the host dials again or loses its leases.
    if (isHostAway(error)) throw error
    // The Session was archived or its lease abandoned, and the sandbox took its tree from under the seal.
    if ((await findLiveLease(context.db, claim))?.id !== lease.id) {
      context.log.info({ err: error, runId: claim.runId }, 'a sandbox ended while it was sealed')
      return 'gone'
    }
    context.log.error({ err: error, runId: claim.runId }, 'sealing failed')
    if (error instanceof SealFailed && error.bound !== undefined) return 'over_bound'
    return error instanceof SandboxGoneError ? 'gone' : 'failed'
  }
}

/** Returns the image that the sandbox started from. */
async function findImageOf({ db }: ExecutionContext, lease: LeaseRow): Promise<SealedImage | null> {
  if (lease.image_digest === null) return null
  return findSealedImage(db, lease.organization_id, lease.image_digest)
}

async function toCheckpoint(
  context: ExecutionContext,
  claim: RunClaim,
  lease: LeaseRow,
  runtime: RuntimeEntry,
  workspace: SealedTree,
  home: SealedHome,
): Promise<Sealed> {
  const manifests = [workspace, ...(home.tree === null ? [] : [home.tree])]
  const blobs = await Promise.all(manifests.map(({ manifest }) => blobsOf(manifest, context.blobs)))
  // An agent gets a recap if it cannot load a conversation, or if its own record was not kept. So does one that was
  // killed within a prompt: its last writes may be torn.
  const run = await findRun(context.db, claim, claim.runId)
  const whole = run?.status !== 'crashed' || lease.agent_state === 'ready'
  const exact = runtime.stateless || (lease.agent_loads_sessions && home.hasConversation && whole)
  return {
    checkpoint: {
      run_id: claim.runId,
      runtime: runtime.id,
      conversation: exact ? 'exact' : 'result_only',
      agent_session_id: exact ? lease.agent_session_id : null,
      workspace_manifest: workspace.manifest.toString('utf8'),
      home_manifest: home.tree?.manifest.toString('utf8') ?? null,
      stored_bytes: manifests.reduce((sum, { storedBytes }) => sum + storedBytes, 0),
      blobs: blobs.flat().map(({ sha256 }) => sha256),
      brought: lease.brought,
    },
    omissions: [
      ...(home.left === undefined ? [] : [homeOmission(home.left)]),
      ...(home.conversation === undefined ? [] : [omission('conversation_checkpoint', home.conversation)]),
    ],
  }
}

const measures: Readonly<Record<OverCap['cap'], string>> = {
  files: 'files, directories and links',
  source: 'bytes of content',
  stored: 'stored bytes',
  manifest: 'bytes of manifest',
  index: 'bytes of file list',
}

/**
 * Names no Run, because nothing of a Run follows its terminal event. A count appears in `reason` and as `count`, never
 * as bytes.
 */
function omission(kind: 'workspace_checkpoint' | 'conversation_checkpoint', over: OverCap): EventDraft {
  return omitted(null, { kind, name: kind, ...sizeOf(over), reason: reasonOf(over) })
}

/** Tells people, who look for their tools, and not for a checkpoint. */
function homeOmission(left: OverCap | 'failed'): EventDraft {
  const about = { kind: 'home_checkpoint', name: 'the home directory' }
  const rest = 'the workspace is kept, and tools in the home go with the sandbox'
  if (left === 'failed') return omitted(null, { ...about, sizeBytes: 0, reason: `it could not be sealed; ${rest}` })
  const sharing = left.cap === 'stored' ? ' that the workspace leaves' : ''
  return omitted(null, { ...about, ...sizeOf(left), reason: `${reasonOf(left)}${sharing}; ${rest}` })
}

const reasonOf = ({ cap, limit }: OverCap): string => `over the cap of ${limit} ${measures[cap]}`

function sizeOf({ cap, atLeast, sourceBytes = 0 }: OverCap): { sizeBytes: number; count?: number } {
  return cap === 'files' ? { sizeBytes: sourceBytes, count: atLeast } : { sizeBytes: atLeast }
}

const encoded = (manifest: string | null | undefined): Buffer | undefined =>
  manifest === null || manifest === undefined ? undefined : Buffer.from(manifest, 'utf8')

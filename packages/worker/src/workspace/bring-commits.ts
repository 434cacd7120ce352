import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Brought, Placing } from '@berth/core/checkpoints/brought.ts'
import type { DeliverySource } from '@berth/core/delivery/sources.ts'
import { PlaceMergeRefused, placeMerge } from '@berth/core/git/place-merge.ts'
import { GitError } from '@berth/core/git/run-git.ts'
import { GitHostError } from '@berth/core/git-hosts/git-host.ts'
import { objectsOf } from '@berth/core/repositories/mirrors.ts'
import type { RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import { mergeWork, PushConflict } from '@berth/core/sessions/bringing/merge-work.ts'
import { type PlannedMerges, planMerges } from '@berth/core/sessions/bringing/plan-merges.ts'
import { listPublishedHeads } from '@berth/core/sessions/bringing/published-heads-sql.ts'
import { dropPlacing, markBrought, markPlacing } from '@berth/core/sessions/leases/brought-sql.ts'
import { findLiveLease, type LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { cutText, storable } from '@berth/core/sessions/log/bounded-text.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import { openPlace } from '@berth/core/sessions/reviews/open-place.ts'
import { ReviewRefused } from '@berth/core/sessions/reviews/review-place.ts'
import type { Bring, RequestedBring } from '@berth/core/sessions/turns/bring.ts'
import type { TurnRow } from '@berth/core/sessions/turns/turn.ts'
import { observed } from '@berth/platform/telemetry/observe.ts'
import type { LeaseScript } from '@berth/sandboxes/lease-program.ts'
import { whileFrozen } from '../apply/while-frozen.ts'
import type { RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'
import { reportIfLong } from './report-if-long.ts'
import { hostPausesMs, pauseAtHost } from './session-source.ts'

/** The commits of a Turn cannot come into the workspace, which is as before; the message is for whoever reads the Run. */
export class BringFailed extends Error {
  override readonly name = 'BringFailed'
  readonly code: 'bring_failed' | 'push_conflict'

  constructor(code: BringFailed['code'], message: string, cause?: unknown) {
    super(cutText(storable(message), REASON_BYTES).text, { cause })
    this.code = code
  }
}

const REASON_BYTES = 2048

/** The sandbox into which a Turn's commits come; no agent is at work there yet. */
export interface BringParts {
  readonly runtime: RuntimeEntry
  readonly lease: LeaseRow
  readonly turn: TurnRow
}

/**
 * Brings the commits that a Turn names into the workspace, before its agent begins. The sandbox stands still meanwhile.
 *
 * A merge is recorded before any file changes: its trees, and what the mirror lacks of them. So a worker that takes over
 * gives the changed paths the same content again, and does not merge what is half merged. The commit that records the end
 * also moves the base with which the workspace is compared.
 * @returns the lease as it is then
 * @throws BringFailed, ClaimLost, whatever says that the sandbox is lost, or the signal's reason
 */
export async function bringCommits(
  context: ExecutionContext,
  claim: RunClaim,
  { runtime, lease, turn }: BringParts,
  signal: AbortSignal,
): Promise<LeaseRow> {
  const isDue = ({ brought }: Pick<LeaseRow, 'brought'>) => turn.bring !== null && brought?.turnId !== turn.id
  if (lease.merging === null && !isDue(lease)) return lease
  const now = async () => (await findLiveLease(context.db, claim)) ?? lease
  const bring = async () => {
    if (lease.merging !== null) {
      const { merging } = lease
      await whileFrozen({ context, claim, lease, runtime }, signal, () => place(context, claim, lease, merging, signal))
    }
    const placed = await now()
    if (turn.bring === null || !isDue(placed)) return placed
    const planned = await plan(context, claim, placed, { id: turn.id, bring: turn.bring }, signal)
    await whileFrozen({ context, claim, lease, runtime }, signal, () => merge(context, claim, placed, planned, signal))
    return now()
  }
  return observed(claim, 'bring commits', () => reportIfLong(context, claim, 'bring_commits', bring))
}

/**
 * Ends a merge that was being placed when its Run ended, so that the workspace is whole before it is sealed. The sandbox
 * stands still.
 */
export async function settlePlacing(context: ExecutionContext, claim: RunClaim, signal: AbortSignal): Promise<void> {
  const lease = await findLiveLease(context.db, claim)
  if (lease?.state !== 'attached' || lease.merging === null) return
  try {
    await place(context, claim, lease, lease.merging, signal)
  } catch (error) {
    if (!(error instanceof BringFailed)) throw error
    context.log.info({ err: error, runId: claim.runId }, 'a merge was taken back')
  }
}

interface Planned extends PlannedMerges {
  readonly source: DeliverySource
  readonly baseOid: string
}

/** Fetches what is to come, and decides how it is merged. A host that does not answer is asked again. */
async function plan(
  context: ExecutionContext,
  claim: RunClaim,
  lease: LeaseRow,
  { id: turnId, bring }: { readonly id: string; readonly bring: readonly RequestedBring[] },
  signal: AbortSignal,
): Promise<Planned> {
  for (const pauseMs of [...hostPausesMs, null]) {
    try {
      const source = await requireSource(context, claim)
      const mirror = await context.sources.mirror(source, signal)
      const found = await fetchBring(context, source, bring, signal)
      const targetOid = bring.some(({ kind }) => kind === 'pushed') ? await fetchTarget(context, source, signal) : null
      const heads = await listPublishedHeads(context.db, claim)
      const [newest] = heads
      if (newest !== undefined) await context.sources.mirror({ ...source, baseOid: newest.base_oid }, signal)
      const { brought } = lease
      const from = { mirror, pinnedOid: source.baseOid, brought, turnId, bring: found, heads, targetOid }
      return { source, baseOid: source.baseOid, ...(await planMerges(from, signal)) }
    } catch (error) {
      if (!(error instanceof GitHostError)) throw error
      if (!error.passing || pauseMs === null) {
        throw new BringFailed('bring_failed', 'the host did not give the commits that the workspace needs', error)
      }
      context.log.warn({ err: error, sessionId: claim.sessionId }, 'commits could not be fetched')
      await sleep(pauseAtHost(pauseMs, error), undefined, { signal })
    }
  }
  throw new BringFailed('bring_failed', 'the host did not give the commits that the workspace needs')
}

async function requireSource(context: ExecutionContext, claim: RunClaim): Promise<DeliverySource> {
  const source = await context.sources.find(claim)
  if (source === null) throw new BringFailed('bring_failed', 'the Session has no repository')
  if (source === 'revoked') throw new BringFailed('bring_failed', 'the Session may not use its repository any more')
  return source
}

/**
 * Brings the commits into the mirror.
 * @returns them; where none of the base is named, or the host no longer has it, since that was rewritten, the present tip
 */
async function fetchBring(
  { sources }: ExecutionContext,
  source: DeliverySource,
  bring: readonly RequestedBring[],
  signal: AbortSignal,
): Promise<readonly Bring[]> {
  const tip = async (): Promise<Bring> => {
    const { oid } = await source.host.readBranch(source.repository, source.baseBranch, signal)
    await sources.mirror({ ...source, baseOid: oid }, signal)
    return { kind: 'base', oid }
  }
  const found: Bring[] = []
  for (const each of bring) {
    if (each.oid === null) {
      found.push(await tip())
      continue
    }
    try {
      await sources.mirror({ ...source, baseOid: each.oid }, signal)
      found.push(each)
    } catch (error) {
      if (!(error instanceof GitHostError) || error.kind !== 'not_found' || each.kind !== 'base') throw error
      found.push(await tip())
    }
  }
  return found
}

/** Returns the tip of the branch that the work goes to; null if the host does not say: it is told, and never needed. */
async function fetchTarget(
  { sources, log }: ExecutionContext,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const { oid } = await source.host.readBranch(source.repository, source.baseBranch, signal)
    await sources.mirror({ ...source, baseOid: oid }, signal)
    return oid
  } catch (error) {
    if (!(error instanceof GitHostError)) throw error
    log.info({ err: error }, 'the tip of a base branch is not known')
    return null
  }
}

async function merge(
  context: ExecutionContext,
  claim: RunClaim,
  lease: LeaseRow,
  { source, baseOid, merges, outcome }: Planned,
  signal: AbortSignal,
): Promise<void> {
  if (merges.length === 0) {
    const kept = { ...outcome, conflicts: [], conflictCount: 0, submodules: [] }
    await underFence(context, claim, tx => markBrought(tx, lease.id, kept))
    return
  }
  const work = await mergeNow(context, lease, { source, baseOid, merges }, signal)
  const { before, after, pack, conflicts, conflictCount, submodules } = work
  const brought: Brought = { ...outcome, conflicts, conflictCount, submodules }
  const placing: Placing = { before, after, pack, branch: source.baseBranch, outcome: brought }
  await underFence(context, claim, tx => markPlacing(tx, lease.id, placing))
  await place(context, claim, lease, placing, signal)
}

async function mergeNow(
  context: ExecutionContext,
  lease: LeaseRow,
  { source, baseOid, merges }: Pick<Planned, 'source' | 'baseOid' | 'merges'>,
  signal: AbortSignal,
) {
  try {
    await using at = await openPlace(context, { leaseId: lease.id, host: context.host }, source, signal)
    return await mergeWork(at, context.blobs, { base: baseOid, merges }, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof PushConflict) {
      const paths = error.conflicts.map(({ path }) => path).join(', ')
      throw new BringFailed('push_conflict', `${error.message}: ${paths}`, error)
    }
    if (error instanceof ReviewRefused) throw new BringFailed('bring_failed', error.message, error)
    if (error instanceof GitError && error.bound !== undefined) {
      throw new BringFailed('bring_failed', `the merge goes over a bound: ${error.bound}`, error)
    }
    throw error
  }
}

/** Places a merge that is on record, and records that it is placed. What git refuses to write is taken back. */
async function place(
  context: ExecutionContext,
  claim: RunClaim,
  lease: LeaseRow,
  { before, after, pack, branch, outcome }: Placing,
  signal: AbortSignal,
): Promise<void> {
  const { blobs, clock, driver } = context
  const begunMs = performance.now()
  const source = await requireSource(context, claim)
  const mirror = await context.sources.mirror(source, signal)
  // This worker may be another than the one that merged, and the sandbox's host may have to be sent them.
  for (const oid of [outcome.baseOid, ...outcome.merged.map(each => each.oid)]) {
    await context.sources.mirror({ ...source, baseOid: oid }, signal)
  }
  const run = (script: LeaseScript) => driver.run(lease.id, script)
  const to = async (trees: { before: string; after: string }, upstream: { branch: string; oid: string } | null) =>
    placeMerge(
      { run, objects: objectsOf(mirror), ...trees, pack: pack === null ? null : await blobs.get(pack), upstream },
      signal,
    )
  try {
    const moved = outcome.baseOid !== (lease.brought?.baseOid ?? source.baseOid)
    await to({ before, after }, moved ? { branch, oid: outcome.baseOid } : null)
  } catch (error) {
    if (!(error instanceof PlaceMergeRefused)) throw error
    context.log.warn({ err: error, runId: claim.runId }, 'a merge cannot be placed')
    await to({ before: after, after: before }, null)
    await underFence(context, claim, tx => dropPlacing(tx, lease.id))
    throw new BringFailed('bring_failed', `the merge cannot be written into the workspace: ${error.message}`, error)
  }
  await underFence(context, claim, async tx => {
    await markBrought(tx, lease.id, outcome)
    await appendEvents(tx, claim, [broughtDraft(branch, outcome, performance.now() - begunMs)], clock.now())
  })
}

/** Tells what came into the workspace, in words for people. */
function broughtDraft(branch: string, { merged, conflictCount }: Brought, ms: number): EventDraft {
  const parts = merged.map(({ kind, oid }) =>
    kind === 'base' ? `${branch} at ${oid.slice(0, 12)}` : `the commits up to ${oid.slice(0, 12)}`,
  )
  const left = conflictCount === 0 ? '' : `, with ${conflictCount} conflict${conflictCount === 1 ? '' : 's'}`
  const { text: title } = cutText(`Merged ${parts.join(' and ')} into the workspace${left}`, REASON_BYTES)
  const about = { activityId: randomUUID(), name: 'bring', kind: 'other', title, status: 'succeeded' }
  const data = { ...about, durationMs: Math.round(ms) }
  return { type: 'svc.activity.completed', visibility: 'transcript', data }
}

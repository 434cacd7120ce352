import { findResumable } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { platformNames } from '@berth/core/checkpoints/platform-names.ts'
import { clearTarget } from '@berth/core/checkpoints/restore-tree.ts'
import { readFixedDocument } from '@berth/core/environments/fix-environment.ts'
import { bytesOfImage, restoreImage } from '@berth/core/environments/images/host-images.ts'
import {
  findImage,
  type ImageFault,
  type ImageRow,
  recordUnavailable,
  type SealedImage,
  useImage,
} from '@berth/core/environments/images/image-sql.ts'
import { markStartedFrom } from '@berth/core/sessions/leases/lease-image-sql.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { hasEarlierWork } from '@berth/core/sessions/runs/run-sql.ts'
import { findSession } from '@berth/core/sessions/session/session-sql.ts'
import { UnsealError } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { LowerTrees } from '@berth/sandboxes/driver.ts'
import type { TreeName } from '@berth/sandboxes/lease-program.ts'
import { treeOf } from '@berth/sandboxes/tree.ts'
import { openExports, type SetupExports } from '../apply/setup-exports.ts'
import type { Claim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'
import { imageKeyOf, isPrebuilt, platformOf } from '../images/image-key.ts'
import { faultOf } from '../images/start-once.ts'
import { isSandboxLost } from '../supervisor/errors.ts'

/** An image that a sandbox starts from. */
export interface UsedImage {
  readonly state: 'used'
  readonly id: string
  readonly image: SealedImage
  /** Its directories on this host; null if the host copies images into sandboxes. */
  readonly lower: LowerTrees | null
  /** What setup exported when the image was made. */
  readonly exports: SetupExports
}

/** An image that is not on this host in this time is done without. */
const BRING_MS = 2 * 60_000

/** How a fresh sandbox stands to the image of its environment. */
export type Prebuilt =
  | UsedImage
  | { readonly state: 'building' }
  | { readonly state: 'unavailable'; readonly reason: ImageFault | 'restored' | 'repositories' | 'temporary' }

/** This host or the store fails, which says nothing about the image. */
const temporary: Prebuilt = { state: 'unavailable', reason: 'temporary' }

/**
 * Returns the image that a lease's sandbox starts from, ready on this host, or why it starts without one. A Session with
 * earlier work starts without: its checkpoint has a workspace of its own.
 *
 * @returns null without an environment, and if the environment wants no image
 * @throws the signal's reason
 */
export async function findPrebuilt(
  context: ExecutionContext,
  claim: Claim,
  lease: LeaseRow,
  signal: AbortSignal,
): Promise<Prebuilt | null> {
  const { clock, db, driver } = context
  const { organizationId } = claim
  const { environment_id: environmentId, environment_revision: revision } = lease
  if (environmentId === null || revision === null) return null
  const document = await readFixedDocument(db, { organizationId, environmentId }, revision)
  if (!isPrebuilt(document)) return null
  const hasWork = (await findResumable(db, claim)) !== null || (await hasEarlierWork(db, claim, claim.runId))
  if (hasWork) return { state: 'unavailable', reason: 'restored' }
  const session = await findSession(db, claim)
  if (session === null) return null
  // A clone in an image would be old, and would be there for whoever may not read the repository any more.
  if (document.repositories.length > 0 && session.source === null)
    return { state: 'unavailable', reason: 'repositories' }
  const found = await findImage(db, imageKeyOf(lease, document, session, platformOf(driver)))
  if (found?.state === 'unavailable') return { state: 'unavailable', reason: found.reason ?? 'damaged' }
  const image = found?.state === 'ready' ? await useImage(db, found.id, clock.now()) : null
  if (found === null || image === null) return { state: 'building' }
  // Before the host has it, so that nobody removes it meanwhile.
  await underFence(context, claim, tx => markStartedFrom(tx, lease.id, image.digest))
  return bring(context, found, image, signal)
}

/** Opens what setup exported, and brings the trees to this host if it shows images below sandboxes. */
async function bring(
  { bounds, db, driver, images, log }: ExecutionContext,
  { id, exports: sealed }: ImageRow,
  image: SealedImage,
  signal: AbortSignal,
): Promise<Prebuilt> {
  const owner = driver.lowerOwner()
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(BRING_MS)])
  try {
    const exports = openExports(db, { id }, sealed)
    if (owner === null && bytesOfImage(image) > bounds.diskBytes) return temporary
    const lower = owner === null ? null : await images.provide(image, owner, inTime)
    return { state: 'used', id, image, exports, lower }
  } catch (error) {
    signal.throwIfAborted()
    const fault = error instanceof UnsealError ? 'damaged' : faultOf(error)
    log.warn({ err: error, imageId: id, fault }, 'an image could not be brought to this host')
    return doneWithout(db, id, fault)
  }
}

/**
 * Completes a sandbox that was made for an image: copies the trees where they are not shown. If they cannot be copied,
 * the sandbox is empty again.
 * @returns the image, or why the sandbox starts without it
 * @throws whatever says that the sandbox is lost, or the signal's reason
 */
export async function placeImage(
  { blobs, db, driver, log }: ExecutionContext,
  used: UsedImage,
  leaseId: string,
  signal: AbortSignal,
): Promise<Prebuilt> {
  const { id, image, lower } = used
  if (lower !== null) return used
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(BRING_MS)])
  const tree = (name: TreeName) => treeOf(driver, leaseId, name)
  try {
    await restoreImage(image, tree, blobs, { skip: platformNames, signal: inTime })
    return used
  } catch (error) {
    signal.throwIfAborted()
    if (isSandboxLost(error)) throw error
    const fault = faultOf(error)
    log.warn({ err: error, imageId: id, fault }, 'an image could not be copied into a sandbox')
    await clearTarget(tree('workspace'), { keep: platformNames })
    await clearTarget(tree('home'), { keep: [] })
    return doneWithout(db, id, fault)
  }
}

/** Records a fault of the image, so that nobody tries it again. A failure of this host or the store is not one. */
async function doneWithout(db: Queryable, id: string, fault: ImageFault | null): Promise<Prebuilt> {
  if (fault === null) return temporary
  await recordUnavailable(db, id, fault)
  return { state: 'unavailable', reason: fault }
}

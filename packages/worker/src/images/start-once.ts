import { randomBytes } from 'node:crypto'
import { RestoreRefused } from '@berth/core/checkpoints/errors.ts'
import { platformNames } from '@berth/core/checkpoints/platform-names.ts'
import { bytesOfImage, restoreImage } from '@berth/core/environments/images/host-images.ts'
import type { ImageFault, SealedImage } from '@berth/core/environments/images/image-sql.ts'
import { orAborted } from '@berth/platform/kit/or-aborted.ts'
import { treeOf } from '@berth/sandboxes/tree.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { SupervisorConnection } from '../supervisor/connection.ts'
import { isSandboxLost } from '../supervisor/errors.ts'

const PREFIX = 'trial-'
/** A trial lasts seconds; most of it is for bringing the image to the host. */
const TRIAL_MS = 5 * 60_000
/** The sweeper destroys what a dead process left of a trial. */
const LONGEST_MS = 2 * TRIAL_MS

/** Returns true if a sandbox without a lease is a trial that may still be under way. */
export function isTrial(leaseId: string, now: Date): boolean {
  if (!leaseId.startsWith(PREFIX)) return false
  const begun = Number.parseInt(leaseId.slice(PREFIX.length), 36)
  return now.getTime() - begun < LONGEST_MS
}

/**
 * Starts a throw-away sandbox from an image, as a lease would, until its supervisor answers.
 * @returns why no sandbox started from it; null if one did
 * @throws if this host or the store failed, which says nothing about the image
 */
export async function startOnce(
  context: ExecutionContext,
  image: SealedImage,
  stopping: AbortSignal,
): Promise<ImageFault | null> {
  const { blobs, bounds, clock, driver, images, limits, supervisorCommand: command } = context
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(TRIAL_MS)])
  const leaseId = `${PREFIX}${clock.now().getTime().toString(36)}-${randomBytes(6).toString('hex')}`
  try {
    const owner = driver.lowerOwner()
    // No sandbox of this kind could hold a copy.
    if (owner === null && bytesOfImage(image) > bounds.diskBytes) return 'size'
    const lower = owner === null ? {} : { lower: await images.provide(image, owner, signal) }
    const spec = { leaseId, command, bounds, mounts: [], egress: { reach: [] }, ...lower }
    await orAborted(driver.create(spec), AbortSignal.any([stopping, AbortSignal.timeout(limits.provisionMs)]))
    if (owner === null) {
      await restoreImage(image, tree => treeOf(driver, leaseId, tree), blobs, { skip: platformNames, signal })
    }
    const stream = await driver.attach(leaseId, signal)
    await using _connection = await SupervisorConnection.open(stream, {
      fence: 1,
      from: 0,
      helloDeadlineMs: limits.pingMs,
      signal,
    })
    return null
  } catch (error) {
    if (isSandboxLost(error)) return 'does_not_start'
    const fault = faultOf(error)
    if (fault === null) throw error
    return fault
  } finally {
    await driver.destroy(leaseId)
  }
}

/** Returns what an error says about the image; null if it is about this host, this sandbox or the store. */
export function faultOf(error: unknown): ImageFault | null {
  if (!(error instanceof RestoreRefused)) return null
  if (error.code === 'over_limit') return 'size'
  return ['missing', 'corrupt', 'malformed'].includes(error.code) ? 'damaged' : null
}

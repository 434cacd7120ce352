import { blobsOf } from '@berth/core/checkpoints/check.ts'
import { SecretFound } from '@berth/core/checkpoints/errors.ts'
import { imageLimits } from '@berth/core/checkpoints/limits.ts'
import { platformNames } from '@berth/core/checkpoints/platform-names.ts'
import { type SealedTree, sealTree } from '@berth/core/checkpoints/seal-tree.ts'
import { digestOfTrees } from '@berth/core/environments/images/host-images.ts'
import {
  claimBuild,
  type ImageClaim,
  type ImageFault,
  recordSealed,
  recordUnavailable,
  releaseBuild,
} from '@berth/core/environments/images/image-sql.ts'
import { markStartedFrom } from '@berth/core/sessions/leases/lease-image-sql.ts'
import { listSecretValues } from '@berth/core/sessions/log/session-redactor.ts'
import { listTokenValues } from '@berth/core/sessions/log/session-tokens.ts'
import { findSession } from '@berth/core/sessions/session/session-sql.ts'
import { wholeForms } from '@berth/platform/kit/redactor.ts'
import { treeOf } from '@berth/sandboxes/tree.ts'
import { ByteSearch } from '@berth/supervisor/tree/byte-search'
import { underFence } from '../claim/under-fence.ts'
import { imageKeyOf, isPrebuilt, platformOf } from '../images/image-key.ts'
import type { ApplyParts, ApplyStep } from './apply-parts.ts'
import { isPassing } from './is-passing.ts'
import { openExports, sealExports } from './setup-exports.ts'
import { whileFrozen } from './while-frozen.ts'

/** Trees that take longer to seal are given up, so that no store can hold a Session up for ever. */
const SEAL_MS = 5 * 60_000
/** After this time another apply may build an image that one has begun. */
const BUILD_MS = 15 * 60_000

/**
 * Keeps what setup made of a fresh sandbox as the image of its revision, before any agent has run. The first apply that
 * gets here builds it. The image is recorded under the fence, so a worker that has lost its claim, after which an agent
 * may run, records nothing. A failure costs the image, never the apply.
 */
export const imageStep: ApplyStep = {
  name: 'image',
  isDue: isPrebuilt,
  async run(parts, signal) {
    const { context, claim, document, lease, report } = parts
    const { clock, db, driver, log } = context
    if (report.prebuilt?.state !== 'building') return {}
    // Setup did without them, and hosts that have them would start from what it made.
    if (report.packages?.state === 'unavailable') return { prebuilt: { state: 'unavailable', reason: 'temporary' } }
    const session = await findSession(db, claim)
    if (session === null) return {}
    const now = clock.now()
    const platform = platformOf(driver)
    const image = await claimBuild(db, imageKeyOf(lease, document, session, platform), {
      platform,
      now,
      until: new Date(now.getTime() + BUILD_MS),
    })
    if (image === null) return {}
    try {
      const fault = await build(parts, image, signal)
      return fault === null ? {} : { prebuilt: { state: 'unavailable', reason: fault } }
    } catch (error) {
      // Whoever goes on leaves the build to a later apply.
      if (signal.aborted || isPassing(error)) throw error
      log.error({ err: error, leaseId: lease.id }, 'an image could not be built')
      await releaseBuild(db, image)
      return { prebuilt: { state: 'unavailable', reason: 'temporary' } }
    }
  },
}

/** @returns why the revision can have no image; null if it is recorded */
async function build(parts: ApplyParts, begun: ImageClaim, signal: AbortSignal): Promise<ImageFault | null> {
  const { context, claim, lease } = parts
  const { blobs, db } = context
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(SEAL_MS)])
  const sealed = await whileFrozen(parts, signal, () => sealTrees(parts, inTime))
  if (typeof sealed === 'string') {
    await underFence(context, claim, tx => recordUnavailable(tx, begun.id, sealed))
    return sealed
  }
  const exports = openExports(db, lease, lease.apply?.exports)
  const tokens = new ByteSearch((await listTokenValues(db, claim)).map(token => Buffer.from(token)))
  // A secret of the environment may be exported: its rotation retires the image. A token would outlive its lease.
  if (tokens.isIn(Buffer.from(JSON.stringify(exports)))) {
    await underFence(context, claim, tx => recordUnavailable(tx, begun.id, 'secret'))
    return 'secret'
  }
  const [workspaceManifest, homeManifest] = [sealed.workspace.manifest.toString(), sealed.home.manifest.toString()]
  const named = await Promise.all([sealed.workspace, sealed.home].map(({ manifest }) => blobsOf(manifest, blobs)))
  const image = {
    workspaceManifest,
    homeManifest,
    digest: digestOfTrees(workspaceManifest, homeManifest),
    blobs: [...new Set(named.flat().map(({ sha256 }) => sha256))],
    exports: sealExports(db, begun, exports),
  }
  await underFence(context, claim, async tx => {
    await recordSealed(tx, begun, image)
    // The first checkpoint of this sandbox builds on the image too.
    await markStartedFrom(tx, lease.id, image.digest)
  })
  return null
}

async function sealTrees(
  parts: ApplyParts,
  signal: AbortSignal,
): Promise<{ readonly workspace: SealedTree; readonly home: SealedTree } | ImageFault> {
  try {
    return await sealBoth(parts, signal)
  } catch (error) {
    if (error instanceof SecretFound) return 'secret'
    throw error
  }
}

/** @throws SecretFound */
async function sealBoth(
  { context, claim, lease }: ApplyParts,
  signal: AbortSignal,
): Promise<{ readonly workspace: SealedTree; readonly home: SealedTree } | 'size'> {
  const { blobs, db, driver } = context
  const secrets = (await listSecretValues(db, claim)).flatMap(wholeForms)
  const shared = { blobs, limits: imageLimits, excludeOverCap: [], secrets, signal }
  const workspace = await sealTree({
    ...shared,
    tree: treeOf(driver, lease.id, 'workspace'),
    skip: platformNames,
  })
  if (workspace.kind === 'over_cap') return 'size'
  const home = await sealTree({
    ...shared,
    tree: treeOf(driver, lease.id, 'home', 'image-home'),
    exclude: [],
  })
  return home.kind === 'over_cap' ? 'size' : { workspace, home }
}

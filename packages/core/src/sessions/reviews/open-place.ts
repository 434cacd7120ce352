import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import { openScratch } from '../../delivery/scratch.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import type { LeasePlace } from '../../hosts/hosts.ts'
import { objectsOf } from '../../repositories/mirrors.ts'
import { type ReviewPlace, reviewBounds } from './review-place.ts'

/**
 * Opens the place in which a lease's workspace is compared with its base, until it is disposed of.
 * @throws GitHostError, HostNotHeld
 */
export async function openPlace(
  context: Pick<DeliveryContext, 'hosts' | 'scratchDir' | 'sources'>,
  { leaseId, host }: LeasePlace,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<ReviewPlace & AsyncDisposable> {
  const { driver } = context.hosts.of(host)
  await using stack = new AsyncDisposableStack()
  const mirror = await context.sources.mirror(source, signal)
  const scratch = stack.use(await openScratch(context.scratchDir))
  const opened = stack.move()
  return {
    run: script => driver.run(leaseId, script),
    mirror,
    objects: objectsOf(mirror),
    scratch: scratch.path,
    bounds: reviewBounds,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

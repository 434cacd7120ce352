import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import { openScratch } from '../../delivery/scratch.ts'
import type { DeliverySource } from '../../delivery/sources.ts'
import { type ReviewPlace, reviewBounds } from './review-place.ts'

/**
 * Opens the place in which a lease's workspace is compared with its base, until it is disposed of.
 * @throws SandboxGoneError, GitHostError
 */
export async function openPlace(
  context: DeliveryContext,
  leaseId: string,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<ReviewPlace & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const { workspace, program } = await context.driver.trees(leaseId)
  const mirror = await context.sources.mirror(source, signal)
  const scratch = stack.use(await openScratch(context.scratchDir))
  const opened = stack.move()
  return {
    workspace,
    ...(program.bwrap !== undefined && { bwrap: program.bwrap }),
    mirror,
    scratch: scratch.path,
    bounds: reviewBounds,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

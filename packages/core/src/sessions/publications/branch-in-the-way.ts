import type { DeliverySource } from '../../delivery/sources.ts'
import { freeBranch } from './branch-name.ts'
import { findBranch } from './prepare.ts'
import type { Obstacle } from './publication.ts'

/**
 * Returns the branch that keeps another from being made: itself, one above it or one below it, since a host keeps a
 * branch `a/b` as a file in a directory `a`. Null if there is none.
 * @throws GitHostError
 */
export async function findObstacle(
  source: DeliverySource,
  { sessionId, branch }: { readonly sessionId: string; readonly branch: string },
  signal: AbortSignal,
): Promise<Obstacle | null> {
  const parts = branch.split('/')
  const obstacle = (name: string): Obstacle => ({ branch: name, suggestedBranch: freeBranch(sessionId, branch) })
  for (let length = 1; length <= parts.length; length++) {
    const name = parts.slice(0, length).join('/')
    if ((await findBranch(source, name, signal)) !== null) return obstacle(name)
  }
  const below = { prefix: `${branch}/`, limit: 1 }
  const [first] = await source.host.listBranches(source.repository, below, signal)
  return first === undefined ? null : obstacle(first)
}

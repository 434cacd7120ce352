import type { ReviewPlace } from './review-place.ts'
import { withinBounds } from './within-bounds.ts'
import { writeTree } from './write-tree.ts'

/**
 * Returns the id of the workspace's present tree, and takes none of its objects.
 * @throws ReviewRefused
 */
export async function currentTree(place: ReviewPlace, baseTree: string, signal: AbortSignal): Promise<string> {
  return withinBounds(place, signal, async within => {
    const written = await writeTree(place, baseTree, within)
    written.pack.resume()
    await written.ended()
    return written.tree
  })
}

import type { ReviewPlace } from './review-place.ts'
import { withinBounds } from './within-bounds.ts'
import { writeTree } from './write-tree.ts'

/** The tree of the workspace as it is now, by its name alone: nothing of it is taken. @throws ReviewRefused */
export async function currentTree(place: ReviewPlace, baseTree: string, signal: AbortSignal): Promise<string> {
  return withinBounds(place, signal, async within => {
    const written = await writeTree(place, baseTree, within)
    written.pack.resume()
    await written.ended()
    return written.tree
  })
}

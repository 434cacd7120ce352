import type { ReviewPlace } from './review-place.ts'
import { writeTree } from './write-tree.ts'

/** The tree of the workspace as it is now, by its name alone: nothing of it is taken. @throws ReviewRefused */
export async function currentTree(place: ReviewPlace, baseTree: string, signal: AbortSignal): Promise<string> {
  const written = await writeTree(place, baseTree, signal)
  written.pack.resume()
  await written.ended()
  return written.tree
}

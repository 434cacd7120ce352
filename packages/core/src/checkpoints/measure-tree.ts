import type { Tree } from '@berth/sandboxes/tree.ts'
import { type ExcludeRule, frameTypes, type TreeSize } from '@berth/supervisor/tree'
import { Conversation } from './conversation.ts'

/**
 * Counts what a seal of a tree would read, without reading it. The program runs as the tree's owner, so its word counts for
 * that tree alone.
 * @param files it stops to count once there are more entries than these
 */
export async function measureTree(
  tree: Tree,
  { exclude, files }: { readonly exclude: readonly ExcludeRule[]; readonly files: number },
  signal: AbortSignal | undefined,
): Promise<TreeSize> {
  await using conversation = await Conversation.start(tree, 'read', { signal })
  conversation.order({ kind: 'measure', exclude, files })
  conversation.end()
  const { type, payload } = await conversation.next()
  if (type !== frameTypes.done) throw new Error('the tree program sent what it was not asked for')
  return JSON.parse(payload.toString()) as TreeSize
}

import type { Tree } from '@berth/sandboxes/tree.ts'
import { chunkBytes, frameTypes, type Inspected, type InspectedEntry } from '@berth/supervisor/tree'
import { Conversation } from './conversation.ts'

/** Most entries of a directory that a look returns. */
export const MAX_ENTRIES = 5_000

/** Largest range of a file that a look returns. */
export const MAX_BYTES = chunkBytes

/** A path of a tree, one character for each byte, and the range of it that is wanted if it is a file. */
export interface PathRange {
  readonly path: string
  readonly offset: number
  readonly bytes: number
}

/** What a path of a tree is. Names and link targets have one character for each byte. */
export type Seen =
  | Exclude<Inspected, { readonly found: 'file' }>
  | { readonly found: 'file'; readonly sizeBytes: number; readonly content: Buffer }

/** Looks at a tree as its owner; links lead nowhere but into the tree. */
export async function inspectTree(tree: Tree, { path, offset, bytes }: PathRange, signal: AbortSignal): Promise<Seen> {
  await using conversation = await Conversation.start(tree, 'read', { signal })
  conversation.order({ kind: 'inspect', path, entries: MAX_ENTRIES, offset, bytes: Math.min(bytes, MAX_BYTES) })
  conversation.end()
  const first = await conversation.next()
  if (first.type === frameTypes.done) return doneOf(first.payload, null)
  if (first.type !== frameTypes.content || first.payload.length > MAX_BYTES) throw unexpected()
  const last = await conversation.next()
  if (last.type !== frameTypes.done) throw unexpected()
  return doneOf(last.payload, first.payload)
}

/** Reads the program's report. It runs with the agent's uid, so its report is checked. */
function doneOf(payload: Buffer, content: Buffer | null): Seen {
  const done = JSON.parse(payload.toString()) as Inspected
  if (done.found === 'file') {
    if (content === null || !Number.isSafeInteger(done.sizeBytes) || done.sizeBytes < 0) throw unexpected()
    return { ...done, content }
  }
  if (content !== null) throw unexpected()
  if (done.found === 'directory' && done.entries.length > MAX_ENTRIES) throw unexpected()
  return done
}

const unexpected = () => new Error('the tree program reported what it was not asked for')

/** Orders entries as people read them: directories first, then by name in byte order. */
export function inOrder(one: InspectedEntry, other: InspectedEntry): number {
  const first = Number(other.kind === 'directory') - Number(one.kind === 'directory')
  if (first !== 0) return first
  return one.name < other.name ? -1 : 1
}

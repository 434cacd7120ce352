import type { ReviewFile } from '@berth/client'

/** A changed file at its place in the diff. */
export interface Leaf {
  readonly kind: 'file'
  readonly file: ReviewFile
  readonly at: number
}

/** A directory with a sum of its files; one that holds nothing but another is one with it. */
export interface Folder {
  readonly kind: 'folder'
  readonly path: string
  readonly name: string
  readonly children: readonly (Folder | Leaf)[]
  readonly files: number
  readonly additions: number
  readonly deletions: number
}

/** Returns the files whose paths have a word as a tree, in the order of the diff. */
export function treeOf(files: readonly ReviewFile[], word: string): Folder {
  const leaves = files
    .map((file, at): Leaf => ({ kind: 'file', file, at }))
    .filter(({ file }) => file.path.toLowerCase().includes(word.trim().toLowerCase()))
  return folderOf('', '', leaves)
}

function folderOf(path: string, name: string, leaves: readonly Leaf[]): Folder {
  const depth = path === '' ? 0 : path.length + 1
  const children: (Folder | Leaf)[] = []
  for (let at = 0; at < leaves.length; ) {
    const leaf = leaves[at]
    if (leaf === undefined) break
    const end = leaf.file.path.indexOf('/', depth)
    if (end === -1) {
      children.push(leaf)
      at++
      continue
    }
    // The diff is in the order of paths, so the files of a directory follow one another.
    const inside = leaf.file.path.slice(0, end + 1)
    const first = at
    while (leaves[at]?.file.path.startsWith(inside) === true) at++
    children.push(folderOf(inside.slice(0, -1), inside.slice(depth, -1), leaves.slice(first, at)))
  }
  const [only] = children
  if (name !== '' && children.length === 1 && only?.kind === 'folder') return { ...only, name: `${name}/${only.name}` }
  const sum = (of: (file: ReviewFile) => number) => leaves.reduce((total, { file }) => total + of(file), 0)
  const [additions, deletions] = [sum(file => file.additions), sum(file => file.deletions)]
  return { kind: 'folder', path, name, children, files: leaves.length, additions, deletions }
}

/** Returns the files of a folder, however deep they lie. */
export const leavesOf = (folder: Folder): readonly Leaf[] =>
  folder.children.flatMap(child => (child.kind === 'file' ? [child] : leavesOf(child)))

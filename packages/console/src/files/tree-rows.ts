import type { WorkspaceEntry, WorkspaceNode } from '@berth/contract'

/** One row of the tree as it is drawn. */
export type TreeRow =
  | { readonly kind: 'entry'; readonly path: string; readonly depth: number; readonly entry: WorkspaceEntry }
  | { readonly kind: 'note'; readonly path: string; readonly depth: number; readonly text: string }

/** The known state of a directory. */
export interface Listing {
  readonly node: WorkspaceNode | undefined
  readonly failed: boolean
}

/** Returns the rows of the tree: each open directory with its entries, as far as they are known. */
export function treeRows(listings: ReadonlyMap<string, Listing>, expanded: ReadonlySet<string>): readonly TreeRow[] {
  const rows: TreeRow[] = []
  const add = (directory: string, depth: number) => {
    const listing = listings.get(directory)
    const note = (text: string) => rows.push({ kind: 'note', path: `${directory}/`, depth, text })
    if (listing?.node === undefined) {
      note(listing?.failed === true ? 'Cannot be read.' : 'Reading…')
      return
    }
    const { entries = [], more = false } = listing.node
    if (entries.length === 0) note('Empty.')
    for (const entry of entries) {
      const path = directory === '' ? entry.name : `${directory}/${entry.name}`
      rows.push({ kind: 'entry', path, depth, entry })
      if (entry.kind === 'directory' && expanded.has(path)) add(path, depth + 1)
    }
    if (more) note('And more, which are not listed here.')
  }
  add('', 0)
  return rows
}

/** Returns the row that a key leads to from another one; null if the key means nothing there. */
export function rowAfter(rows: readonly TreeRow[], from: number, key: string): number | null {
  const last = rows.length - 1
  switch (key) {
    case 'ArrowDown':
      return Math.min(last, from + 1)
    case 'ArrowUp':
      return Math.max(0, from - 1)
    case 'Home':
      return 0
    case 'End':
      return last
    case 'PageDown':
      return Math.min(last, from + 15)
    case 'PageUp':
      return Math.max(0, from - 15)
    default:
      return null
  }
}

/** Returns the row of the directory that a row lies in; the row itself at the top. */
export function parentRow(rows: readonly TreeRow[], from: number): number {
  const depth = rows[from]?.depth ?? 0
  for (let at = from - 1; at >= 0; at--) if ((rows[at]?.depth ?? 0) < depth) return at
  return from
}

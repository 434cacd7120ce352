/** A path that two sides have changed in ways that git does not unite. */
export interface Conflict {
  /** As `readPath` returns it. */
  readonly path: string
  /** Git's word for it: `contents`, `binary`, `modify/delete`, … */
  readonly kind: string
}

/** Commits that a workspace holds besides the pinned one. They belong to its files, so they go where those go. */
export interface Brought {
  /** The commit with which the workspace is compared: its changes since are the Session's. */
  readonly baseOid: string
  /** The tip that somebody else gave the branch of the work, and the base that it contains; null if there was none. */
  readonly head: { readonly oid: string; readonly baseOid: string } | null
  /** The Turn that brought the last of them. */
  readonly turnId: string
  /** What that Turn brought, for its agent. */
  readonly merged: readonly { readonly kind: 'base' | 'pushed'; readonly oid: string }[]
  /** The first of the paths whose conflicts are left in the files. */
  readonly conflicts: readonly Conflict[]
  readonly conflictCount: number
  /** The first of the submodules that moved: their checkouts stay as they were. */
  readonly submodules: readonly string[]
}

/**
 * A merge that is being placed in a workspace. Between its record and that of its end the files may be half of each tree,
 * so whoever goes on places it again: each changed path gets what `after` holds.
 */
export interface Placing {
  readonly before: string
  readonly after: string
  /** Digest of the blob with a pack of what the mirror lacks of both trees; null if there is nothing. */
  readonly pack: string | null
  /** The branch of the base, which the workspace's own repository is told of. */
  readonly branch: string
  /** What the workspace holds once it is placed. */
  readonly outcome: Brought
}

/**
 * Commits of the Session's repository that come into its workspace before a Turn's agent begins. `base`: those of the
 * branch that the work goes to. `pushed`: those that somebody else has put on the branch of the work.
 */
export interface Bring {
  readonly kind: 'base' | 'pushed'
  /** 40 lower-case hex; everything that it reaches comes along. */
  readonly oid: string
}

/** What the service itself adds to a Turn that it admits; no caller of the API can ask for it. */
export interface PlatformTurn {
  /** At most one of each kind, for a Session with a repository. */
  readonly bring?: readonly Bring[]
}

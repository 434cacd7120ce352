/**
 * Commits of the Session's repository that come into its workspace before a Turn's agent begins. `base`: those of the
 * branch that the work goes to. `pushed`: those that somebody else has put on the branch of the work.
 */
export interface Bring {
  readonly kind: 'base' | 'pushed'
  /** 40 lower-case hex; everything that it reaches comes along. */
  readonly oid: string
}

/** The same as a Turn asks for it. Of the base, null is the tip at the time when the Run begins. */
export type RequestedBring = Bring | { readonly kind: 'base'; readonly oid: null }

/** What the service itself adds to a Turn that it admits. A caller of the API can ask for the tip of the base alone. */
export interface PlatformTurn {
  /** At most one of each kind, for a Session with a repository. */
  readonly bring?: readonly RequestedBring[]
}

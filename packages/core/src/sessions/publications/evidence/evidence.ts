import type { CheckResult, ReviewSignal } from '@berth/contract'
import type { ModelShare } from '../../../accounting/model-shares.ts'

/** The facts of a Publication that a pull request shows. Names and paths are as their authors wrote them. */
export interface Evidence {
  /** The newest result of the checks on the revision; null if they were not run. */
  readonly verification: VerifiedBy | null
  readonly signals: readonly ReviewSignal[]
  /** Who asked for the Publication; null if it was no person and no installation that still is there. */
  readonly requester: string | null
  /** What people decided when the agent asked. */
  readonly decisions: readonly Decided[]
  /** Models by their cost, the dearest first. */
  readonly models: readonly ModelShare[]
  /** The Session's page with the review, and the statement if the Publication has one. */
  readonly links: { readonly review: string; readonly statement: string | null }
}

export interface VerifiedBy {
  readonly state: 'passed' | 'failed'
  readonly tree: string
  readonly environment: { readonly name: string; readonly revision: number }
  readonly checks: readonly CheckResult[]
  /** Required checks that the environment had when the Session's first sandbox was set up, and that were not run. */
  readonly removed: readonly string[]
}

/** How often somebody decided the same about the same. */
export interface Decided {
  readonly by: string | null
  readonly allowed: boolean
  /** The tool; null for the plan. */
  readonly tool: string | null
  readonly times: number
}

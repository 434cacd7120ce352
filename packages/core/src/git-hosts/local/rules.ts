import type { PullBlocker } from '../git-host.ts'
import type { LocalRuleRow } from './local-sql.ts'

export type CheckState = 'pending' | 'success' | 'failure'

/** Protection of a branch: nobody pushes to it, and a pull request into it needs these checks of its head. */
export interface BranchRule {
  readonly branch: string
  readonly requiredChecks: readonly string[]
}

/** The last state of one check of a commit. */
export interface Check {
  readonly name: string
  readonly state: CheckState
  readonly updatedAt: Date
}

/** Returns the reasons why a pull request cannot be merged now, the lasting ones first. */
export function blockersOf(facts: {
  readonly conflicts: boolean
  readonly draft: boolean
  readonly rule: LocalRuleRow | null
  readonly passedChecks: readonly string[]
}): PullBlocker[] {
  const { conflicts, draft, rule, passedChecks } = facts
  const missing = rule?.required_checks.some(name => !passedChecks.includes(name)) ?? false
  return [
    ...(conflicts ? (['conflict'] as const) : []),
    ...(draft ? (['draft'] as const) : []),
    ...(missing ? (['checks'] as const) : []),
  ]
}

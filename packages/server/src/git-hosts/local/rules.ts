import type { PullBlocker } from '../git-host.ts'
import type { LocalRuleRow } from './local-sql.ts'

export type CheckState = 'pending' | 'success' | 'failure'

/** What keeps a pull request from being merged now, the lasting reasons first. */
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

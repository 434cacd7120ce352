/** What a test's GitHub knows of checks: the same for each commit, branch and repository. */
export class GitHubChecks {
  readonly runs = new Map<string, { status: string; conclusion: string | null; details_url: string | null }>()
  readonly statuses = new Map<string, { state: string; target_url: string | null; description?: string }>()
  /** Names that the protection of branches requires. */
  byProtection: string[] = []
  /** Names that the rules of repositories require. */
  byRules: string[] = []
  /** Whether the App may read checks and statuses. */
  mayRead = true

  /** Answers a request below a repository; null: it is none about checks. */
  answer(rest: string): { readonly status: number; readonly body: unknown } | null {
    if (rest.startsWith('rules/branches/')) {
      const required_status_checks = this.byRules.map(context => ({ context }))
      return { status: 200, body: [{ type: 'required_status_checks', parameters: { required_status_checks } }] }
    }
    const [, what] = rest.match(/^commits\/[0-9a-f]{40}\/(check-runs|status)$/) ?? []
    if (what === undefined) return null
    if (!this.mayRead) return { status: 403, body: { message: 'Resource not accessible by integration' } }
    if (what === 'status')
      return {
        status: 200,
        body: { statuses: [...this.statuses].map(([context, status]) => ({ context, ...status })) },
      }
    const check_runs = [...this.runs].map(([name, run]) => ({ name, html_url: null, ...run }))
    return { status: 200, body: { total_count: check_runs.length, check_runs } }
  }
}

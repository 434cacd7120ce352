import { GitHostError, type HostCheck } from '../git-host.ts'

/** Makes a call as the installation. */
type Call = <Body>(route: string, parameters: object) => Promise<Body>

interface CheckRun {
  readonly name: string
  readonly status: string
  readonly conclusion: string | null
  readonly details_url: string | null
  readonly html_url: string | null
}

interface Status {
  readonly context: string
  readonly state: string
  readonly target_url: string | null
}

/** Most that GitHub gives at once. */
const PAGE = 100

const ofConclusion: ReadonlyMap<string, HostCheck['state']> = new Map(
  Object.entries({
    success: 'success',
    neutral: 'skipped',
    skipped: 'skipped',
  }),
)
const ofState: ReadonlyMap<string, HostCheck['state']> = new Map(
  Object.entries({ success: 'success', pending: 'pending' }),
)

/**
 * Reads the checks of a commit: check runs and commit statuses, of each name the newest, and those that the rules of the
 * base branch require, reported or not. What the App may not read is left out.
 * @returns null if the App may read neither runs nor statuses
 */
export async function readChecks(
  call: Call,
  repositoryId: string,
  { headOid, baseBranch }: { readonly headOid: string; readonly baseBranch: string },
): Promise<HostCheck[] | null> {
  const commit = `GET /repositories/${repositoryId}/commits/${headOid}`
  const [runs, statuses, required] = await Promise.all([
    unlessForbidden(call<{ check_runs: CheckRun[] }>(`${commit}/check-runs`, { per_page: PAGE, filter: 'latest' })),
    unlessForbidden(call<{ statuses: Status[] }>(`${commit}/status`, { per_page: PAGE })),
    readRequired(call, repositoryId, baseBranch),
  ])
  if (runs === null && statuses === null) return null
  const found = new Map<string, Omit<HostCheck, 'required'>>()
  for (const { context, state, target_url } of statuses?.statuses ?? []) {
    found.set(context, { name: context, state: ofState.get(state) ?? 'failure', url: target_url })
  }
  for (const { name, status, conclusion, details_url, html_url } of runs?.check_runs ?? []) {
    const state = status === 'completed' ? (ofConclusion.get(conclusion ?? '') ?? 'failure') : 'pending'
    found.set(name, { name, state, url: details_url ?? html_url })
  }
  for (const name of required) if (!found.has(name)) found.set(name, { name, state: 'missing', url: null })
  return [...found.values()].map(check => ({ ...check, required: required.has(check.name) }))
}

/** Returns the names that the branch's protection and the repository's rules require. */
async function readRequired(call: Call, repositoryId: string, branch: string): Promise<ReadonlySet<string>> {
  const [protectedBranch, rules] = await Promise.all([
    unlessForbidden(
      call<{ protection?: { required_status_checks?: { contexts?: string[] } } }>(
        `GET /repositories/${repositoryId}/branches/{branch}`,
        { branch },
      ),
    ),
    unlessForbidden(
      call<{ type: string; parameters?: { required_status_checks?: { context: string }[] } }[]>(
        `GET /repositories/${repositoryId}/rules/branches/{branch}`,
        { branch },
      ),
    ),
  ])
  const byRules = (rules ?? []).flatMap(({ type, parameters }) =>
    type === 'required_status_checks' ? (parameters?.required_status_checks ?? []) : [],
  )
  const byProtection = protectedBranch?.protection?.required_status_checks?.contexts ?? []
  return new Set([...byProtection, ...byRules.map(({ context }) => context)])
}

/** Older servers have no rules, and an App may lack a permission: neither hides the rest. */
async function unlessForbidden<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if (error instanceof GitHostError && (error.kind === 'forbidden' || error.kind === 'not_found')) return null
    throw error
  }
}

import { GitHostError, type HostCheck } from '../git-host.ts'
import type { FollowedCheck } from '../host-following.ts'
import { isCheckOfBerth } from '../own-check.ts'

/** Makes a call as the installation. */
type Call = <Body>(route: string, parameters: object) => Promise<Body>

export interface CheckRun {
  readonly id: number
  readonly name: string
  readonly status: string
  readonly conclusion: string | null
  readonly completed_at?: string | null
  readonly details_url: string | null
  readonly html_url: string | null
  readonly external_id?: string | null
  readonly output?: { readonly title?: string | null; readonly summary?: string | null } | null
  readonly app?: { readonly id: number; readonly slug?: string } | null
}

export interface Status {
  readonly id: number
  readonly context: string
  readonly state: string
  readonly target_url: string | null
  readonly description?: string | null
  readonly updated_at?: string
}

/** The branch as far as it says which checks it requires. */
export interface CheckedBranch {
  readonly protection?: { readonly required_status_checks?: { readonly contexts?: readonly string[] } }
}

/** A rule of a repository for its branches. */
export interface BranchRule {
  readonly type: string
  readonly parameters?: { readonly required_status_checks?: readonly { readonly context: string }[] }
}

/** What GitHub says of a commit; null: the App may not read it. */
export interface Reported {
  readonly runs: readonly CheckRun[] | null
  readonly statuses: readonly Status[] | null
  readonly required: ReadonlySet<string>
}

/** Most that GitHub gives at once. */
const PAGE = 100
/** Most of what a reporter says in short, in characters. */
const SUMMARY_CHARACTERS = 2000

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
  { headOid, baseBranch: branch }: { readonly headOid: string; readonly baseBranch: string },
): Promise<HostCheck[] | null> {
  const at = `GET /repositories/${repositoryId}`
  const commit = `${at}/commits/${headOid}`
  const [runs, statuses, described, rules] = await Promise.all([
    unlessForbidden(call<{ check_runs: CheckRun[] }>(`${commit}/check-runs`, { per_page: PAGE, filter: 'latest' })),
    unlessForbidden(call<{ statuses: Status[] }>(`${commit}/status`, { per_page: PAGE })),
    unlessForbidden(call<CheckedBranch>(`${at}/branches/{branch}`, { branch })),
    unlessForbidden(call<BranchRule[]>(`${at}/rules/branches/{branch}`, { branch })),
  ])
  const required = requiredBy(described, rules)
  const checks = checksOf({ runs: runs?.check_runs ?? null, statuses: statuses?.statuses ?? null, required })
  if (checks === null) return null
  const newest = new Map(checks.map(({ name, state, url, required }) => [name, { name, state, url, required }]))
  return [...newest.values()]
}

/** Returns the names that the branch's protection and the repository's rules require. */
export function requiredBy(branch: CheckedBranch | null, rules: readonly BranchRule[] | null): ReadonlySet<string> {
  const byRules = (rules ?? []).flatMap(({ type, parameters }) =>
    type === 'required_status_checks' ? (parameters?.required_status_checks ?? []) : [],
  )
  const byProtection = branch?.protection?.required_status_checks?.contexts ?? []
  return new Set([...byProtection, ...byRules.map(({ context }) => context)])
}

/**
 * Returns statuses, then check runs, then those that are required and that nobody has reported. Two check runs may have
 * the same name.
 * @returns null if neither statuses nor runs are known
 */
export function checksOf({ runs, statuses, required }: Reported): FollowedCheck[] | null {
  if (runs === null && statuses === null) return null
  const found = [...(statuses ?? []).map(ofStatus), ...(runs ?? []).map(ofRun)]
  const names = new Set(found.map(({ name }) => name))
  const missing = [...required].filter(name => !names.has(name)).map(ofNobody)
  return [...found, ...missing].map(check => ({ ...check, required: required.has(check.name) }))
}

/** Returns whether a check run is a report of a deployment of Berth, which says nothing of the commit. */
export const isReport = ({ app, external_id: externalId }: CheckRun, appId: string): boolean =>
  String(app?.id) === appId || isCheckOfBerth(externalId ?? null)

type Found = Omit<FollowedCheck, 'required'>

function ofRun({ id, name, status, conclusion, completed_at: at, details_url, html_url, output }: CheckRun): Found {
  const done = status === 'completed'
  return {
    id: `run:${id}`,
    name,
    state: done ? (ofConclusion.get(conclusion ?? '') ?? 'failure') : 'pending',
    url: details_url ?? html_url,
    conclusion: done ? conclusion : null,
    completedAt: done && at ? new Date(at) : null,
    summary: shortened([output?.title, output?.summary]),
  }
}

function ofStatus({ id, context, state, target_url: url, description, updated_at: at }: Status): Found {
  const known = ofState.get(state) ?? 'failure'
  const done = known !== 'pending'
  return {
    id: `status:${id}`,
    name: context,
    state: known,
    url,
    conclusion: done ? state : null,
    completedAt: done && at !== undefined ? new Date(at) : null,
    summary: shortened([description]),
  }
}

const ofNobody = (name: string): Found => {
  const nothing = { id: null, url: null, conclusion: null, completedAt: null, summary: null }
  return { ...nothing, name, state: 'missing' }
}

function shortened(parts: readonly (string | null | undefined)[]): string | null {
  const text = parts.filter(part => part).join('\n\n')
  return text === '' ? null : text.slice(0, SUMMARY_CHARACTERS)
}

/** Older servers have no rules, and an App may lack a permission: neither hides the rest. */
async function unlessForbidden<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if (isHidden(error)) return null
    throw error
  }
}

/** Returns whether an error says that there is no such thing, or that the App may not see it. */
export const isHidden = (error: unknown): boolean =>
  error instanceof GitHostError && (error.kind === 'forbidden' || error.kind === 'not_found')

import type { RepositoryRef } from '../git-host.ts'
import type { FollowedComment, FollowedReview, Observation } from '../host-following.ts'
import type { HostPerson } from '../host-people.ts'
import type { GitHubCalls } from './github-calls.ts'
import {
  type BranchRule,
  type CheckedBranch,
  type CheckRun,
  checksOf,
  isHidden,
  isReport,
  requiredBy,
  type Status,
} from './github-checks.ts'
import { fromCursor, ObservedReads, toCursor } from './github-cursor.ts'
import { type GitHubPull, toPull } from './github-pull.ts'

interface Author {
  readonly id: number
  readonly login: string
  readonly type: string
}

/** Something that somebody wrote. Comments on lines and reviews name no App. */
interface Written {
  readonly id: number
  readonly user: Author | null
  readonly body?: string | null
  readonly performed_via_github_app?: { readonly id: number } | null
}

interface IssueComment extends Written {
  readonly created_at: string
}

export interface LineComment extends Written {
  readonly pull_request_review_id: number | null
  readonly in_reply_to_id?: number
  readonly path: string
  readonly line?: number | null
  readonly created_at: string
}

interface Review extends Written {
  readonly state: string
  readonly submitted_at?: string | null
}

type Followed = GitHubPull & {
  readonly locked?: boolean
  readonly labels?: readonly { readonly name?: string }[]
  readonly assignees?: readonly { readonly login: string }[] | null
}

/** This deployment's App, as it appears in what it writes. */
export interface OwnApp {
  readonly appId: string
  /** Returns the login of its bot. */
  readBot(signal?: AbortSignal): Promise<string>
}

const stateOf: ReadonlyMap<string, FollowedReview['state']> = new Map(
  Object.entries({ APPROVED: 'approved', CHANGES_REQUESTED: 'changes_requested', COMMENTED: 'commented' }),
)

/**
 * Observes a pull request. If a cursor is given, every part that it names is first asked for on the condition that it has
 * changed. After any change all parts are read anew, reviews before the comments on lines: a review that is seen without
 * its comments would be dealt with as if it had none.
 */
export async function observePull(
  calls: GitHubCalls,
  own: OwnApp,
  at: { readonly repository: RepositoryRef; readonly number: number; readonly since: string | null },
  signal?: AbortSignal,
): Promise<Observation | null> {
  const reads = new ObservedReads(calls, at.repository, signal)
  if (at.since !== null && (await reads.areUnchanged(fromCursor(at.since)))) return null
  const found = await reads.read<Followed>(`pulls/${at.number}`)
  const pull = toPull(found)
  const head = `commits/${pull.headOid}`
  const named = { branch: pull.baseBranch }
  const [runs, statuses, branch, rules, talk] = await Promise.all([
    reads.readList(`${head}/check-runs`, { filter: 'latest' }, (body: { check_runs: CheckRun[] }) => body.check_runs),
    reads.readList(`${head}/status`, {}, (body: { statuses: Status[] }) => body.statuses),
    reads.readIfShown<CheckedBranch & { readonly commit: { readonly sha: string } }>('branches/{branch}', named),
    reads.readIfShown<BranchRule[]>('rules/branches/{branch}', named),
    readTalk(reads, at.number, own, signal),
  ])
  const required = requiredBy(branch, rules)
  const shown = runs?.filter(run => required.has(run.name) || !isReport(run, own.appId)) ?? null
  return {
    pull,
    baseOid: branch?.commit.sha ?? null,
    branchDeleted: pull.state === 'closed' && (await isGone(calls, at.repository, pull.headBranch, signal)),
    locked: found.locked === true,
    labels: (found.labels ?? []).flatMap(({ name }) => name ?? []),
    assignees: (found.assignees ?? []).map(({ login }) => login),
    checks: checksOf({ runs: shown, statuses, required }),
    ...talk,
    cursor: toCursor(reads.seen),
  }
}

async function isGone(
  calls: GitHubCalls,
  { account, repositoryId }: RepositoryRef,
  branch: string,
  signal?: AbortSignal,
) {
  try {
    await calls.call(account, `GET /repositories/${repositoryId}/branches/{branch}`, { branch }, signal)
    return false
  } catch (error) {
    if (isHidden(error)) return true
    throw error
  }
}

async function readTalk(
  reads: ObservedReads,
  number: number,
  own: OwnApp,
  signal?: AbortSignal,
): Promise<Pick<Observation, 'reviews' | 'comments'>> {
  const reviews = await reads.readLatest<Review>(`pulls/${number}/reviews`)
  const onLines = await reads.readLatest<LineComment>(`pulls/${number}/comments`)
  const onPull = await reads.readLatest<IssueComment>(`issues/${number}/comments`)
  const written = [...reviews, ...onLines, ...onPull]
  const bot = written.some(each => each.user?.type === 'Bot' && !namesApp(each)) ? await own.readBot(signal) : null
  const about = (each: Written) => ({ isBot: isBot(each), isOurs: isOurs(each, own.appId, bot) })
  const singles: FollowedComment[] = []
  const followed: FollowedReview[] = []
  for (const review of reviews) {
    const comments = onLines.filter(comment => comment.pull_request_review_id === review.id)
    const mapped = comments.map(comment => ({ ...ofLine(comment), ...about(comment) }))
    const state = stateOf.get(review.state.toUpperCase())
    if (state === undefined || !review.submitted_at) continue
    // GitHub makes a review of its own for each comment on a line that is not part of one, and for each answer.
    if (state === 'commented' && !review.body && mapped.length <= 1) singles.push(...mapped)
    else followed.push({ ...ofReview(review, review.submitted_at, state), ...about(review), comments: mapped })
  }
  const alone = onLines.filter(({ pull_request_review_id: id }) => id === null)
  singles.push(...alone.map(comment => ({ ...ofLine(comment), ...about(comment) })))
  singles.push(...onPull.map(comment => ({ ...ofPull(comment), ...about(comment) })))
  const comments = singles.toSorted((one, other) => one.createdAt.getTime() - other.createdAt.getTime())
  return { reviews: followed, comments }
}

/** Returns whether this deployment's App wrote something: anybody can write its words, but nobody else as its bot. */
export function isOurs(written: Written, appId: string, bot: string | null): boolean {
  if (namesApp(written)) return String(written.performed_via_github_app?.id) === appId
  return written.user?.type === 'Bot' && written.user.login === bot
}

const namesApp = ({ performed_via_github_app: app }: Written) => app !== undefined && app !== null

const isBot = (written: Written) => written.user?.type === 'Bot' || namesApp(written)

type Mapped = Omit<FollowedComment, 'isBot' | 'isOurs'>

const ofPull = ({ id, user, body, created_at: at }: IssueComment): Mapped => ({
  ...{ id: String(id), author: ofAuthor(user), body: body ?? '', createdAt: new Date(at) },
  ...{ path: null, line: null, threadId: null },
})

/** GitHub numbers comments on lines apart from the others. */
const ofLine = ({ id, user, body, path, line, in_reply_to_id: root, created_at: at }: LineComment): Mapped => ({
  ...{ id: `line:${id}`, author: ofAuthor(user), body: body ?? '', createdAt: new Date(at) },
  ...{ path, line: line ?? null, threadId: String(root ?? id) },
})

const ofReview = ({ id, user, body }: Review, submittedAt: string, state: FollowedReview['state']) => ({
  ...{ id: String(id), author: ofAuthor(user), state, body: body ?? '', submittedAt: new Date(submittedAt) },
})

/** An account that is gone is `ghost` on GitHub's pages. */
const ofAuthor = (user: Author | null): HostPerson =>
  user === null ? { id: '0', login: 'ghost' } : { id: String(user.id), login: user.login }

import type { HostIssue, IssueComment, LinkedIssue, RepositoryRef } from '../git-host.ts'
import type { Call } from './github-talk.ts'

interface Author {
  readonly user: { readonly login: string } | null
  readonly author_association?: string
}

interface Issue extends Author {
  readonly number: number
  readonly title: string
  readonly body: string | null
  readonly html_url: string
  readonly comments: number
}

interface Comment extends Author {
  readonly body?: string
  readonly created_at: string
}

interface TimelineEvent {
  readonly event?: string
  readonly source?: { readonly issue?: Issue & { readonly repository?: { readonly id: number } } }
}

const PAGE = 100
/** Comments of an issue that are read, the newest ones. */
const COMMENTS = 50
/** Issues that are linked to one. */
const LINKED = 20
/** Those whose work is the repository's own. */
const ofRepository: ReadonlySet<string> = new Set(['OWNER', 'MEMBER', 'COLLABORATOR'])

/** Reads an issue with its newest comments and the issues of the same repository that are linked to it. */
export async function readIssue(
  call: Call,
  { account, repositoryId }: RepositoryRef,
  number: number,
  signal?: AbortSignal,
): Promise<HostIssue> {
  const at = `GET /repositories/${repositoryId}/issues/${number}`
  const issue = await call<Issue>(account, at, {}, signal)
  const last = Math.max(1, Math.ceil(issue.comments / COMMENTS))
  // The newest stand on the last page, and on the one before if that is not full.
  const pages = issue.comments % COMMENTS === 0 || last === 1 ? [last] : [last - 1, last]
  const [timeline, ...read] = await Promise.all([
    call<TimelineEvent[]>(account, `${at}/timeline`, { per_page: PAGE }, signal),
    ...pages.map(page => call<Comment[]>(account, `${at}/comments`, { per_page: COMMENTS, page }, signal)),
  ])
  const comments = read.flat().slice(-COMMENTS).map(toComment)
  return {
    number,
    title: issue.title,
    body: issue.body ?? '',
    url: issue.html_url,
    ...authorOf(issue),
    comments,
    commentCount: issue.comments,
    linked: linkedIn(timeline, repositoryId),
  }
}

const authorOf = ({ user, author_association: association = 'NONE' }: Author) => ({
  author: user?.login ?? 'ghost',
  isOfRepository: ofRepository.has(association),
})

const toComment = (comment: Comment): IssueComment => ({
  ...authorOf(comment),
  body: comment.body ?? '',
  createdAt: comment.created_at,
})

/** An issue of another repository is left out: whoever reads the Session may have no right there. */
function linkedIn(timeline: readonly TimelineEvent[], repositoryId: string): readonly LinkedIssue[] {
  const found = new Map<number, LinkedIssue>()
  for (const { event, source } of timeline) {
    const issue = event === 'cross-referenced' ? source?.issue : undefined
    if (issue === undefined || String(issue.repository?.id) !== repositoryId) continue
    found.set(issue.number, { number: issue.number, title: issue.title, url: issue.html_url })
  }
  return [...found.values()].slice(0, LINKED)
}

/** An issue of a repository. */
export interface ServedIssue {
  readonly repository: number
  readonly number: number
  readonly title: string
  readonly body: string | null
  readonly user: { readonly login: string }
  readonly author_association: string
  readonly html_url: string
  /** Issues that refer to it, each in a repository. */
  readonly referredBy: readonly Pick<ServedIssue, 'number' | 'title' | 'html_url' | 'repository'>[]
}

/** What answers requests for issues. */
interface Talk {
  readonly issues: readonly ServedIssue[]
  readonly comments: readonly { readonly repository: number; readonly issue: number }[]
}

/** Answers a request for an issue or its timeline; null: it is about something else. */
export function answerIssue(
  { issues, comments }: Talk,
  repository: number,
  rest: string,
): { readonly status: number; readonly body: unknown } | null {
  const [, number, timeline] = rest.match(/^issues\/(\d+)(\/timeline)?$/) ?? []
  if (number === undefined) return null
  const issue = issues.find(each => each.repository === repository && each.number === Number(number))
  if (issue === undefined) return { status: 404, body: { message: 'Not Found' } }
  const { referredBy, repository: _, ...shown } = issue
  if (timeline === undefined) {
    const ofIssue = comments.filter(each => each.repository === repository && each.issue === issue.number)
    return { status: 200, body: { ...shown, comments: ofIssue.length } }
  }
  const crossed = referredBy.map(({ repository: id, ...each }) => ({
    event: 'cross-referenced',
    source: { issue: { ...each, repository: { id } } },
  }))
  return { status: 200, body: [{ event: 'labeled' }, ...crossed] }
}

import type { GitHubEventKind, TriggerHook } from '@berth/contract'
import { isObject } from '@berth/platform/kit/json.ts'
import { fieldAt, textAt } from '../payload-field.ts'

export type GitHubConfig = NonNullable<TriggerHook['github']>

/** An event of GitHub that fires a trigger: facts of its signed body, of which the host is asked again before they count. */
export interface GitHubEvent {
  readonly kind: GitHubEventKind
  /** Id of the `GitHost` that the repository's address belongs to. */
  readonly host: string
  readonly repositoryId: string
  /** The issue or pull request that it is about; null for a check of a branch without one. */
  readonly number: number | null
  readonly isPull: boolean
  /** Whose right to write counts; null for a check, whose commit must stand at the branch instead. */
  readonly actor: string | null
  /** Where the check failed. */
  readonly head: { readonly branch: string; readonly oid: string } | null
  /** Id of the review, whose comments on lines are not in the body of the event. */
  readonly review?: string | null
  /** Id of the GitHub App that reported the check; null for other events. */
  readonly app: string | null
  /** The App's own id of its check run; null if it gave none, and for other events. */
  readonly externalId?: string | null
  /** Id of the suite of checks, whose check runs are not in the body of the event; null for other events. */
  readonly suite?: string | null
}

/** The fields under which a message finds the same things in every kind of event. */
interface EventText {
  readonly kind: GitHubEventKind
  readonly repository: string
  readonly number: number | null
  readonly title: string
  readonly text: string
  readonly url: string
  readonly actor: string
}

/** The issue or pull request of which somebody has taken the label off, or the assignment away. */
export type Withdrawal = Pick<GitHubEvent, 'host' | 'repositoryId' | 'number' | 'isPull'>

type ReadEvent =
  | { readonly kind: 'event'; readonly event: GitHubEvent; readonly texts: EventText }
  | { readonly kind: 'withdrawn'; readonly of: Withdrawal }
  | { readonly kind: 'ignored'; readonly why: string }

type Found = Pick<GitHubEvent, 'kind' | 'number' | 'isPull' | 'actor' | 'head'> &
  Partial<Pick<GitHubEvent, 'app' | 'externalId' | 'review' | 'suite'>> &
  Pick<EventText, 'title' | 'text' | 'url'>

const ignored = (why: string): ReadEvent => ({ kind: 'ignored', why })

/**
 * Reads an event that GitHub has signed. Events of bots are ignored, except failed checks: a comment of this deployment
 * would answer itself without end.
 * @param name the value of `X-GitHub-Event`
 */
export function readGitHubEvent(name: string, body: unknown, config: GitHubConfig): ReadEvent {
  const repository = textAt(body, 'repository.full_name')
  const repositoryId = textAt(body, 'repository.id')
  const address = URL.parse(textAt(body, 'repository.html_url') ?? '')
  if (repository === null || repositoryId === null || address === null) return ignored(`${name} names no repository`)
  const { repositories } = config
  if (repositories !== undefined && !repositories.some(one => one.toLowerCase() === repository.toLowerCase())) {
    return ignored(`${repository} is not one of the trigger's repositories`)
  }
  const withdrawn = withdrawnIn(name, body, config)
  if (withdrawn !== null) {
    return { kind: 'withdrawn', of: { host: `github:${address.host}`, repositoryId, ...withdrawn } }
  }
  const found = findIn(name, body, config)
  if (typeof found === 'string') return ignored(found)
  const { title, text, url, ...facts } = found
  const { kind, number, actor } = facts
  if (!config.on.includes(kind)) return ignored(`${kind} is not one of the trigger's events`)
  const isBot = textAt(body, 'sender.type') === 'Bot' || isObject(fieldAt(body, 'comment.performed_via_github_app'))
  if (isBot && kind !== 'check_failed') return ignored('a bot did it')
  return {
    kind: 'event',
    event: { app: null, ...facts, host: `github:${address.host}`, repositoryId },
    texts: { kind, repository, number, title, text, url, actor: actor ?? textAt(body, 'sender.login') ?? '' },
  }
}

function findIn(name: string, body: unknown, config: GitHubConfig): Found | string {
  const does = `${name}.${textAt(body, 'action') ?? ''}`
  switch (does) {
    case 'issue_comment.created':
      return comment(body, config.mention ?? '@berth')
    case 'issues.labeled':
      return label(body, config.label ?? 'berth', 'issue')
    case 'issues.assigned':
      return assigned(body, config.assignee ?? 'berth')
    case 'pull_request.labeled':
      return label(body, config.label ?? 'berth', 'pull_request')
    case 'pull_request_review.submitted':
      return review(body)
    case 'check_run.completed':
      return check(body, { at: 'check_run', branch: 'check_run.check_suite.head_branch', title: 'check_run.name' })
    case 'check_suite.completed':
      return check(body, { at: 'check_suite', branch: 'check_suite.head_branch', title: 'check_suite.app.name' })
    default:
      return `${does} fires no trigger`
  }
}

function comment(body: unknown, mention: string): Found | string {
  const text = textAt(body, 'comment.body') ?? ''
  if (!mentions(text, mention)) return `the comment does not hold ${mention}`
  return {
    kind: 'comment',
    number: numberAt(body, 'issue.number'),
    isPull: isObject(fieldAt(body, 'issue.pull_request')),
    actor: textAt(body, 'comment.user.login') ?? '',
    head: null,
    ...textsAt(body, 'issue.title', text, 'comment.html_url'),
  }
}

function label(body: unknown, wanted: string, place: 'issue' | 'pull_request'): Found | string {
  // GitHub takes two spellings for the same label.
  if (textAt(body, 'label.name')?.toLowerCase() !== wanted.toLowerCase()) return `the label is not ${wanted}`
  return {
    kind: 'label',
    number: numberAt(body, `${place}.number`),
    isPull: place === 'pull_request',
    actor: textAt(body, 'sender.login') ?? '',
    head: null,
    ...textsAt(body, `${place}.title`, textAt(body, `${place}.body`) ?? '', `${place}.html_url`),
  }
}

function assigned(body: unknown, wanted: string): Found | string {
  if (!isLogin(textAt(body, 'assignee.login'), wanted)) return `it is not assigned to ${wanted}`
  return {
    kind: 'issue_assigned',
    number: numberAt(body, 'issue.number'),
    isPull: false,
    actor: textAt(body, 'sender.login') ?? '',
    head: null,
    ...textsAt(body, 'issue.title', textAt(body, 'issue.body') ?? '', 'issue.html_url'),
  }
}

/** Returns whether a login is the one that is meant: a user's, or that of an App's own user. */
function isLogin(login: string | null, wanted: string): boolean {
  const names = [wanted, `${wanted}[bot]`].map(name => name.toLowerCase())
  return login !== null && names.includes(login.toLowerCase())
}

/** Returns the issue or pull request that an event takes from Berth; null if it takes none. */
function withdrawnIn(
  name: string,
  body: unknown,
  { on, label: wanted = 'berth', assignee = 'berth' }: GitHubConfig,
): Pick<Withdrawal, 'number' | 'isPull'> | null {
  const does = `${name}.${textAt(body, 'action') ?? ''}`
  if (does === 'issues.unassigned' && on.includes('issue_assigned')) {
    const isOurs = isLogin(textAt(body, 'assignee.login'), assignee)
    return isOurs ? { number: numberAt(body, 'issue.number'), isPull: false } : null
  }
  const place = { 'issues.unlabeled': 'issue', 'pull_request.unlabeled': 'pull_request' }[does]
  if (place === undefined || !on.includes('label')) return null
  const isOurs = textAt(body, 'label.name')?.toLowerCase() === wanted.toLowerCase()
  return isOurs ? { number: numberAt(body, `${place}.number`), isPull: place === 'pull_request' } : null
}

function review(body: unknown): Found | string {
  const text = textAt(body, 'review.body') ?? ''
  const state = textAt(body, 'review.state')?.toLowerCase()
  // A comment on one line arrives as a review without text.
  if (state !== 'changes_requested' && (state !== 'commented' || text === '')) return 'the review asks for nothing'
  return {
    kind: 'review',
    number: numberAt(body, 'pull_request.number'),
    isPull: true,
    actor: textAt(body, 'review.user.login') ?? '',
    head: null,
    review: textAt(body, 'review.id'),
    ...textsAt(body, 'pull_request.title', text, 'review.html_url'),
  }
}

function check(
  body: unknown,
  { at, branch, title }: { readonly at: 'check_run' | 'check_suite'; readonly branch: string; readonly title: string },
): Found | string {
  const conclusion = textAt(body, `${at}.conclusion`)
  if (conclusion !== 'failure' && conclusion !== 'timed_out') return 'the check has not failed'
  const head = { branch: textAt(body, branch), oid: textAt(body, `${at}.head_sha`) }
  // GitHub names no branch for a commit of a fork.
  if (head.branch === null || head.oid === null) return 'the check is of no branch of the repository'
  const number = ownPull(body, at)
  const text = [textAt(body, `${at}.output.title`), textAt(body, `${at}.output.summary`)]
  return {
    kind: 'check_failed',
    number,
    isPull: number !== null,
    actor: null,
    head: { branch: head.branch, oid: head.oid },
    app: textAt(body, `${at}.app.id`),
    externalId: textAt(body, 'check_run.external_id'),
    suite: at === 'check_suite' ? textAt(body, 'check_suite.id') : null,
    ...textsAt(body, title, text.filter(line => line !== null).join('\n\n'), `${at}.html_url`),
  }
}

/** Returns the number of the check's pull request; null if it has none, or only one of another repository. */
function ownPull(body: unknown, at: string): number | null {
  const pulls = fieldAt(body, `${at}.pull_requests`)
  const repository = numberAt(body, 'repository.id')
  if (!Array.isArray(pulls) || repository === null) return null
  const own = pulls.find(pull => numberAt(pull, 'base.repo.id') === repository)
  return own === undefined ? null : numberAt(own, 'number')
}

const textsAt = (body: unknown, title: string, text: string, url: string) => ({
  title: textAt(body, title) ?? '',
  text,
  url: textAt(body, url) ?? textAt(body, 'repository.html_url') ?? '',
})

function numberAt(body: unknown, path: string): number | null {
  const value = fieldAt(body, path)
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null
}

/** Returns whether a text holds a word outside of its quotations. */
function mentions(text: string, mention: string): boolean {
  const escaped = mention.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const pattern = new RegExp(`(^|[\\s(,;:])${escaped}(?![\\w-])`, 'i')
  return text.split('\n').some(line => !line.trimStart().startsWith('>') && pattern.test(line))
}

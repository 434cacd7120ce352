import { answerIssue, type ServedIssue } from './github-issues.ts'
import { pageOf, type ServedAnswer, type ServedCall } from './github-pages.ts'
import { nextInstant, userOf } from './github-reviews.ts'

interface ServedComment {
  readonly id: number
  readonly repository: number
  readonly issue: number
  body: string
  readonly performed_via_github_app: { readonly id: number } | null
  readonly user: { readonly login: string; readonly type: string }
  readonly created_at: string
}

/** A check run that the App has made. */
export interface ServedCheckRun {
  readonly id: number
  readonly repository: number
  readonly head_sha: string
  readonly external_id: string
  readonly name: string
  status: string
  conclusion: string | null
  output: { readonly title: string; readonly summary: string } | null
  details_url: string
}

/** The people's rights, comments on issues and check runs of a test's GitHub. */
export class GitHubTalk {
  /** `write`, `read` and so on, by login; others have none. */
  readonly rights = new Map<string, string>()
  readonly comments: ServedComment[] = []
  readonly checkRuns: ServedCheckRun[] = []
  /** Check runs of other Apps, by the id of their suite. */
  readonly suites = new Map<number, readonly { readonly external_id: string | null; readonly conclusion: string }[]>()
  /** Comments on lines, by the id of their review. */
  readonly onLines = new Map<number, object[]>()
  /** Issues, which have the comments above. */
  readonly issues: ServedIssue[] = []
  readonly #appId: string
  #ids = 1000

  constructor(appId: string) {
    this.#appId = appId
  }

  /** Writes a comment as somebody else. */
  comment(
    repository: number,
    issue: number,
    body: string,
    login = 'ann',
    type: 'User' | 'Bot' = 'User',
  ): ServedComment {
    return this.#add(repository, issue, body, { app: null, user: userOf(login, type) })
  }

  /** Answers a request; null: it is about something else. */
  answer({ method, repository, rest, query, body }: ServedCall): ServedAnswer | null {
    const [, login] = rest.match(/^collaborators\/([^/]+)\/permission$/) ?? []
    if (login !== undefined) {
      const permission = this.rights.get(decodeURIComponent(login))
      return permission === undefined ? missing : { status: 200, body: { permission, user: { login } } }
    }
    const [, issue] = rest.match(/^issues\/(\d+)\/comments$/) ?? []
    if (issue !== undefined && method === 'POST') {
      const app = { id: Number(this.#appId) }
      const made = this.#add(repository, Number(issue), String(body['body']), {
        app,
        user: userOf('berth[bot]', 'Bot'),
      })
      return { status: 201, body: shown(made) }
    }
    if (issue !== undefined) {
      const all = this.comments.filter(one => one.repository === repository && one.issue === Number(issue))
      return pageOf(all.map(shown), query, rest)
    }
    if (method === 'GET') {
      const read = answerIssue(this, repository, rest)
      if (read !== null) return read
    }
    const [, commented] = rest.match(/^issues\/comments\/(\d+)$/) ?? []
    if (commented !== undefined) {
      const found = this.comments.find(one => one.repository === repository && one.id === Number(commented))
      if (found === undefined) return missing
      found.body = String(body['body'])
      return { status: 200, body: shown(found) }
    }
    const [, review] = rest.match(/^pulls\/\d+\/reviews\/(\d+)\/comments$/) ?? []
    if (review !== undefined) return { status: 200, body: this.onLines.get(Number(review)) ?? [] }
    return this.#checks({ method, repository, rest, query, body })
  }

  #checks({ method, repository, rest, query, body }: ServedCall): ServedAnswer | null {
    if (method === 'POST' && rest === 'check-runs') {
      const made = { output: null, conclusion: null, ...body, id: this.#ids++, repository } as unknown as ServedCheckRun
      this.checkRuns.push(made)
      return { status: 201, body: made }
    }
    const [, id] = rest.match(/^check-runs\/(\d+)$/) ?? []
    if (id !== undefined) {
      const found = this.checkRuns.find(one => one.repository === repository && one.id === Number(id))
      if (found === undefined) return missing
      return { status: 200, body: Object.assign(found, body) }
    }
    const [, suite] = rest.match(/^check-suites\/(\d+)\/check-runs$/) ?? []
    if (suite !== undefined) return { status: 200, body: { check_runs: this.suites.get(Number(suite)) ?? [] } }
    const [, sha] = rest.match(/^commits\/([0-9a-f]{40})\/check-runs$/) ?? []
    if (sha === undefined || query.get('app_id') !== this.#appId) return null
    const check_runs = this.checkRuns.filter(
      one => one.repository === repository && one.head_sha === sha && one.name === query.get('check_name'),
    )
    return { status: 200, body: { total_count: check_runs.length, check_runs } }
  }

  #add(
    repository: number,
    issue: number,
    body: string,
    { app, user }: { readonly app: { readonly id: number } | null; readonly user: ServedComment['user'] },
  ): ServedComment {
    const made = { id: this.#ids++, repository, issue, body, performed_via_github_app: app, user, ...now() }
    this.comments.push(made)
    return made
  }
}

const missing = { status: 404, body: { message: 'Not Found' } }

const shown = (comment: ServedComment) => ({ ...comment, html_url: `https://github.example/comments/${comment.id}` })

const now = () => ({ created_at: nextInstant() })

import { pageOf, type ServedAnswer, type ServedCall } from './github-pages.ts'

interface User {
  readonly id: number
  readonly login: string
  readonly type: 'User' | 'Bot'
}

/** A comment on a line, as GitHub lists it. */
export interface ServedLineComment {
  readonly id: number
  readonly repository: number
  readonly pull: number
  readonly pull_request_review_id: number
  readonly in_reply_to_id?: number
  readonly user: User
  path: string
  /** Null: the line is gone from the head. */
  line: number | null
  readonly original_line: number | null
  body: string
  readonly created_at: string
}

interface ServedReview {
  readonly id: number
  readonly repository: number
  readonly pull: number
  readonly user: User
  state: string
  readonly body: string
  readonly submitted_at: string
}

interface Place {
  readonly path: string
  readonly line?: number | null
  readonly body: string
}

/** Who reviews, and what they say. */
export interface Reviewing {
  readonly by?: string
  readonly type?: 'User' | 'Bot'
  readonly state?: 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED' | 'DISMISSED'
  readonly body?: string
  readonly comments?: readonly Place[]
}

/** Reviews of pull requests of a test's GitHub, and the threads on their lines. */
export class GitHubReviews {
  readonly reviews: ServedReview[] = []
  readonly comments: ServedLineComment[] = []
  #ids = 50_000

  /** Submits a review. */
  review(repository: number, pull: number, reviewing: Reviewing = {}): ServedReview {
    const { by = 'ann', type = 'User', state = 'CHANGES_REQUESTED', body = '', comments = [] } = reviewing
    const user = userOf(by, type)
    const made = { id: this.#ids++, repository, pull, user, state, body, submitted_at: nextInstant() }
    for (const place of comments) this.#comment(made, place)
    this.reviews.push(made)
    return made
  }

  /** Writes one comment on a line, or answers one: GitHub makes an empty review of its own for each. */
  comment(
    repository: number,
    pull: number,
    place: Place & { readonly by?: string; readonly type?: 'User' | 'Bot'; readonly to?: number },
  ): ServedLineComment {
    const { by, type, to, ...rest } = place
    const made = this.review(repository, pull, { ...(by && { by }), ...(type && { type }), state: 'COMMENTED' })
    return this.#comment(made, rest, to)
  }

  /** Answers a request; null: it is about something else. */
  answer({ method, repository, rest, query, body }: ServedCall): ServedAnswer | null {
    const [, pull, kind] = rest.match(/^pulls\/(\d+)\/(reviews|comments)$/) ?? []
    if (kind === 'reviews') {
      const all = this.reviews.filter(one => one.repository === repository && one.pull === Number(pull))
      return pageOf(all, query, rest)
    }
    if (kind === 'comments') {
      const all = this.comments.filter(one => one.repository === repository && one.pull === Number(pull))
      const since = query.get('since') ?? ''
      const later = all.filter(({ created_at: at }) => since === '' || new Date(at) >= new Date(since))
      return pageOf((query.get('direction') === 'desc' ? later.toReversed() : later).map(shown), query, rest)
    }
    const [, at, answered] = rest.match(/^pulls\/(\d+)\/comments\/(\d+)\/replies$/) ?? []
    if (method !== 'POST' || answered === undefined) return null
    const root = this.comments.find(one => one.repository === repository && one.id === Number(answered))
    if (root === undefined) return { status: 404, body: { message: 'Not Found' } }
    const place = { path: root.path, line: root.line, body: String(body['body']) }
    const made = this.comment(repository, Number(at), { ...place, by: 'berth[bot]', type: 'Bot', to: root.id })
    return { status: 201, body: shown(made) }
  }

  #comment({ id, repository, pull, user }: ServedReview, { path, line = 1, body }: Place, to?: number) {
    const made: ServedLineComment = {
      ...{ id: this.#ids++, repository, pull, pull_request_review_id: id, user, path, line, original_line: line, body },
      ...(to !== undefined && { in_reply_to_id: to }),
      created_at: nextInstant(),
    }
    this.comments.push(made)
    return made
  }
}

let last = 0

/** Returns the time in ISO 8601, later than each before: what is written in the same millisecond keeps its order, too. */
export function nextInstant(): string {
  last = Math.max(Date.now(), last + 1)
  return new Date(last).toISOString()
}

/** Returns a user whose id follows from the login. */
export const userOf = (login: string, type: 'User' | 'Bot' = 'User'): User => ({
  id: [...login].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1_000_003, 7),
  login,
  type,
})

const shown = (comment: ServedLineComment) => ({ ...comment, html_url: `https://github.example/lines/${comment.id}` })

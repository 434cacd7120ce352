import { GitHostError, type HostComment, type HostTalk, type OwnCheck, type RepositoryRef } from '../git-host.ts'
import { readIssue } from './github-issue.ts'

/** Makes a call as the installation. */
export type Call = <Body>(
  account: string,
  route: string,
  parameters: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
) => Promise<Body>

interface Comment {
  readonly id: number
  readonly html_url: string
  readonly body?: string
  readonly user: { readonly type: string } | null
  readonly performed_via_github_app?: { readonly id: number } | null
}

interface CodeComment {
  readonly path: string
  readonly line?: number | null
  readonly original_line?: number | null
  readonly body: string
}

interface CheckRun {
  readonly id: number
  readonly external_id: string | null
  readonly conclusion: string | null
}

/** Most comments or checks that GitHub gives at once, and how many such pages are looked through. */
const PAGE = 100
const PAGES = 5

/** Returns issues and pull requests as a GitHub App takes part in them. */
export function githubTalk(appId: string, call: Call): HostTalk {
  const at = ({ repositoryId }: RepositoryRef, rest: string) => `/repositories/${repositoryId}/${rest}`
  return {
    appId,

    rightOf: async (repository, login, signal) => {
      try {
        const route = `GET ${at(repository, 'collaborators/{login}/permission')}`
        const { permission } = await call<{ permission: string }>(repository.account, route, { login }, signal)
        // Maintainers count as `write` here, and those who only triage as `read`.
        return permission === 'admin' || permission === 'write' ? 'write' : permission === 'read' ? 'read' : 'none'
      } catch (error) {
        if (error instanceof GitHostError && error.kind === 'not_found') return 'none'
        throw error
      }
    },

    findOwnComment: async (repository, { number, since }, marker, signal) => {
      const route = `GET ${at(repository, `issues/${number}/comments`)}`
      for (let page = 1; page <= PAGES; page++) {
        const query = { since: since.toISOString(), per_page: PAGE, page }
        const comments = await call<Comment[]>(repository.account, route, query, signal)
        const own = comments.find(comment => comment.body?.startsWith(marker) && isOwn(comment, appId))
        if (own !== undefined) return toComment(own)
        if (comments.length < PAGE) break
      }
      return null
    },

    addComment: async (repository, number, body, signal) => {
      const route = `POST ${at(repository, `issues/${number}/comments`)}`
      return toComment(await call<Comment>(repository.account, route, { body }, signal))
    },

    editComment: async (repository, id, body, signal) => {
      const route = `PATCH ${at(repository, `issues/comments/${id}`)}`
      return toComment(await call<Comment>(repository.account, route, { body }, signal))
    },

    readIssue: (repository, number, signal) => readIssue(call, repository, number, signal),

    listReviewComments: async (repository, { number, id }, signal) => {
      const route = `GET ${at(repository, `pulls/${number}/reviews/${id}/comments`)}`
      const query = { per_page: PAGE }
      const comments = await call<CodeComment[]>(repository.account, route, query, signal)
      return comments.map(({ path, line, original_line, body }) => ({
        path,
        line: line ?? original_line ?? null,
        body,
      }))
    },

    findOwnCheck: async (repository, { headOid, name, externalId }, signal) => {
      const route = `GET ${at(repository, `commits/${headOid}/check-runs`)}`
      for (let page = 1; page <= PAGES; page++) {
        const query = { app_id: appId, check_name: name, filter: 'all', per_page: PAGE, page }
        const { check_runs: runs } = await call<{ check_runs: CheckRun[] }>(repository.account, route, query, signal)
        const own = runs.find(({ external_id }) => external_id === externalId)
        if (own !== undefined) return String(own.id)
        if (runs.length < PAGE) break
      }
      return null
    },

    listFailedChecks: async (repository, suite, signal) => {
      const route = `GET ${at(repository, `check-suites/${suite}/check-runs`)}`
      const query = { filter: 'latest', per_page: PAGE }
      const { check_runs: runs } = await call<{ check_runs: CheckRun[] }>(repository.account, route, query, signal)
      return runs
        .filter(({ conclusion }) => conclusion === 'failure' || conclusion === 'timed_out')
        .map(({ external_id: externalId }) => externalId)
    },

    addCheck: async (repository, check, signal) => {
      const body = { head_sha: check.headOid, ...checkBody(check) }
      const { id } = await call<CheckRun>(repository.account, `POST ${at(repository, 'check-runs')}`, body, signal)
      return String(id)
    },

    editCheck: async (repository, id, check, signal) => {
      await call(repository.account, `PATCH ${at(repository, `check-runs/${id}`)}`, checkBody(check), signal)
    },
  }
}

/** Anybody can write the marker of a comment, but only the App as the App. Older servers name no App. */
function isOwn({ performed_via_github_app: app, user }: Comment, appId: string): boolean {
  return app === undefined || app === null ? user?.type === 'Bot' : String(app.id) === appId
}

const checkBody = ({ name, externalId, url, conclusion, title, summary }: OwnCheck) => ({
  name,
  external_id: externalId,
  details_url: url,
  ...(conclusion === null ? { status: 'in_progress' } : { status: 'completed', conclusion }),
  output: { title, summary },
})

const toComment = ({ id, html_url: url }: Comment): HostComment => ({ id: String(id), url })

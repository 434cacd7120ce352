import type { GitHostError, RepositoryRef } from '../git-host.ts'
import type { HostComments, HostFollowing } from '../host-following.ts'
import type { GitHubCalls } from './github-calls.ts'
import { isHidden } from './github-checks.ts'
import { type ReadUrl, readCheckLog } from './github-logs.ts'
import { isOurs, type LineComment, type OwnApp, observePull } from './github-observe.ts'

type WrittenComment = LineComment & { readonly html_url: string }

/** Most comments that GitHub gives at once, and how many such pages are looked through for an answer. */
const PAGE = 100
const PAGES = 5

/** The GitHub that pull requests are followed at. */
export interface FollowedHost {
  readonly calls: GitHubCalls
  readonly own: OwnApp
  readonly comments: HostComments
  readonly readUrl: ReadUrl
  /** Returns the error for a pull request that was not found. */
  missing(repository: RepositoryRef, error: unknown, signal?: AbortSignal): Promise<unknown>
}

/** Returns pull requests as a GitHub App follows them. */
export function githubFollowing({ calls, own, comments, readUrl, missing }: FollowedHost): HostFollowing {
  const { rightOf, findOwnComment, addComment, editComment } = comments
  return {
    ...{ rightOf, findOwnComment, addComment, editComment },

    observe: async (repository, number, since, signal) => {
      try {
        return await observePull(calls, own, { repository, number, since }, signal)
      } catch (error) {
        throw await missing(repository, error, signal)
      }
    },

    checkLog: (repository, check, mostBytes, signal) =>
      readCheckLog(calls, readUrl, repository, { check, mostBytes }, signal),

    reply: async (repository, number, { threadId }, body, signal) => {
      if (threadId === null || !/^\d{1,18}$/.test(threadId)) return addComment(repository, number, body, signal)
      const { account, repositoryId } = repository
      const route = `POST /repositories/${repositoryId}/pulls/${number}/comments/${threadId}/replies`
      try {
        return toComment(await calls.call<WrittenComment>(account, route, { body }, signal))
      } catch (error) {
        if (!isHidden(error) || (error as GitHostError).kind === 'forbidden') throw error
        return addComment(repository, number, body, signal)
      }
    },

    findReply: async (repository, { number, since }, marker, signal) => {
      const { account, repositoryId } = repository
      const route = `GET /repositories/${repositoryId}/pulls/${number}/comments`
      const query = { sort: 'created', direction: 'desc', since: since.toISOString(), per_page: PAGE }
      for (let page = 1; page <= PAGES; page++) {
        const found = await calls.call<WrittenComment[]>(account, route, { ...query, page }, signal)
        const marked = found.filter(comment => comment.body?.startsWith(marker))
        const bot = marked.length > 0 ? await own.readBot(signal) : null
        const answer = marked.find(comment => isOurs(comment, own.appId, bot))
        if (answer !== undefined) return toComment(answer)
        if (found.length < PAGE) break
      }
      return findOwnComment(repository, { number, since }, marker, signal)
    },
  }
}

const toComment = ({ id, html_url: url }: WrittenComment) => ({ id: String(id), url })

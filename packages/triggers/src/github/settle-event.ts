import type { CreateSession, TriggerHook } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import { type GitHost, GitHostError, type HostTalk, type RepositoryRef } from '@berth/core/git-hosts/git-host.ts'
import { isCheckOfBerth } from '@berth/core/git-hosts/own-check.ts'
import { findGrantOf, type Grantee } from '@berth/core/repositories/grant-sql.ts'
import { hostRefusal } from '@berth/core/repositories/host-refusal.ts'
import type { GitHubEvent, Withdrawal } from './github-event.ts'
import { issueText } from './issue-text.ts'

/** Longest that a host may take over an event, in milliseconds. */
const HOST_MS = 20_000

export interface SettledSource {
  readonly kind: 'source'
  readonly source: NonNullable<CreateSession['source']>
  /** The commit that a pull request or a check is about; null for an issue. */
  readonly headOid: string | null
  /** What the event itself does not hold, to go below the message: comments of a review, or the whole issue. */
  readonly appendix: (message: string) => string
}

export type SettledEvent = SettledSource | { readonly kind: 'refused'; readonly errorCode: string }

/** Where the Session of an event begins: a branch of the repository itself, null for its default one. */
interface Place {
  readonly branch: string | null
  readonly headOid: string | null
}

/**
 * Asks the host whether an event may make a Turn, and which branch it is about. Whoever caused it must be allowed to push
 * to the repository, and the branch must be the repository's own: a fork's would let a stranger choose the code that runs.
 * @param forks what becomes of those of a fork
 * @param begins whether it begins a conversation, to which an issue is told whole
 * @throws ApiError if the host cannot be asked
 */
export async function settleEvent(
  context: Pick<Context, 'db' | 'gitHosts'>,
  grantee: Grantee,
  event: GitHubEvent,
  { hook, begins }: { readonly hook: TriggerHook | null; readonly begins: boolean },
): Promise<SettledEvent> {
  const grant = await findGrantOf(context.db, grantee, event)
  const host = grant === null ? null : context.gitHosts.find(grant.host)
  if (grant === null || host?.talk === undefined) return refused('cloud_repository_grant_required')
  try {
    const repository = { account: grant.account, repositoryId: grant.repository_id }
    const signal = AbortSignal.timeout(HOST_MS)
    const { actor } = event
    if (actor !== null && !(await mayWrite(host.talk, repository, actor, signal))) return refused('actor_may_not_write')
    if (await isOfBerthAlone(host.talk, repository, event, signal)) return refused('check_of_berth')
    const place = await placeOf(host, repository, { event, forks: hook?.github?.forks ?? 'refuse' }, signal)
    if (typeof place === 'string') return refused(place)
    const { branch, headOid } = place
    const source = { kind: grant.provider, grantId: grant.id, repositoryId: grant.repository_id }
    const appendix = await appendixOf(host.talk, repository, { event, begins }, signal)
    return { kind: 'source', source: { ...source, ...(branch !== null && { baseBranch: branch }) }, headOid, appendix }
  } catch (error) {
    if (error instanceof GitHostError) throw hostRefusal(error)
    throw error
  }
}

const mayWrite = async (talk: HostTalk, repository: RepositoryRef, actor: string, signal: AbortSignal) =>
  (await talk.rightOf(repository, actor, signal)) === 'write'

/** Returns whether all that failed in a suite of checks are Runs of Berth, of whichever deployment. */
async function isOfBerthAlone(
  talk: HostTalk,
  repository: RepositoryRef,
  { suite = null }: GitHubEvent,
  signal: AbortSignal,
): Promise<boolean> {
  if (suite === null) return false
  const failed = await talk.listFailedChecks(repository, suite, signal).catch(error => {
    // The App may not read checks, which only its own reports need.
    if (error instanceof GitHostError && !error.passing) return []
    throw error
  })
  return failed.length > 0 && failed.every(isCheckOfBerth)
}

/** Returns the text that goes below a message: the issue, or the comments of a review on lines; nothing for other events. */
async function appendixOf(
  talk: HostTalk,
  repository: RepositoryRef,
  { event, begins }: { readonly event: GitHubEvent; readonly begins: boolean },
  signal: AbortSignal,
): Promise<(message: string) => string> {
  const { number, isPull, head } = event
  const comments = await commentsOn(talk, repository, event, signal)
  const isIssue = begins && !isPull && head === null && number !== null
  // The event itself has said what is asked; the App need not be allowed to read issues.
  const issue = !isIssue
    ? undefined
    : await talk.readIssue?.(repository, number, signal).catch(error => {
        if (error instanceof GitHostError && !error.passing) return undefined
        throw error
      })
  return message => (issue === undefined ? comments : issueText(issue, message))
}

/** Returns the comments of a review on lines, each with its place; nothing for other events. */
async function commentsOn(
  talk: HostTalk,
  repository: RepositoryRef,
  { review = null, number }: GitHubEvent,
  signal: AbortSignal,
): Promise<string> {
  if (review === null || number === null) return ''
  const comments = await talk.listReviewComments(repository, { number, id: review }, signal)
  return comments.map(({ path, line, body }) => `\n\n${path}${line === null ? '' : `:${line}`}: ${body}`).join('')
}

/** Returns where the Session begins, or the code with which the event is refused. */
async function placeOf(
  host: GitHost,
  repository: RepositoryRef,
  { event, forks }: { readonly event: GitHubEvent; readonly forks: 'refuse' | 'base' },
  signal: AbortSignal,
): Promise<Place | string> {
  const { head, number, isPull } = event
  if (head !== null) {
    // Only somebody with the right to push moved the branch to this commit; a fork's branch may have the same name.
    const { oid } = await host.readBranch(repository, head.branch, signal)
    return oid === head.oid ? { branch: head.branch, headOid: head.oid } : 'branch_moved'
  }
  if (!isPull || number === null) return { branch: null, headOid: null }
  const pull = await host.readPull(repository, number, signal)
  if (!pull.fromFork) return { branch: pull.headBranch, headOid: pull.headOid }
  return forks === 'base' ? { branch: pull.baseBranch, headOid: pull.headOid } : 'pull_request_of_fork'
}

const refused = (errorCode: string): SettledEvent => ({ kind: 'refused', errorCode })

/** Returns the conversation of an event: that of its issue or pull request. */
export const threadOfEvent = ({ host, repositoryId, number }: Withdrawal): string | null =>
  number === null ? null : `${host}/${repositoryId}#${number}`

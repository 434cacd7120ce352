import { createHash, randomUUID } from 'node:crypto'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { type GitHost, GitHostError, type HostComment, type HostPull, type RepositoryRef } from '../git-host.ts'
import type { FollowedCheck, FollowedComment, FollowedReview, HostFollowing, Observation } from '../host-following.ts'
import { endOf } from '../log-tail.ts'
import * as sql from './local-review-sql.ts'
import { listChecks, readCheckOutput } from './local-sql.ts'

/** The parts of the local host that tell of a pull request. */
type Host = Pick<GitHost, 'readPull' | 'readBranch' | 'readChecks'>

/** Name of the service where it writes itself. */
const SERVICE = { author_id: 'berth', author_name: 'Berth', written_by: 'service' } as const
const SUMMARY_CHARACTERS = 2000
const CHECK = /^([0-9a-f]{40}):\d+:(.+)$/su

/**
 * Returns pull requests of local repositories as they are followed. Whoever may write there may push, and that was judged
 * when they wrote.
 * @param consoleUrl where people look at pull requests
 */
export function localFollowing(db: Queryable, clock: Clock, host: Host, consoleUrl: () => string): HostFollowing {
  const write = async (
    repository: RepositoryRef,
    number: number,
    written: Pick<sql.LocalReviewRow, 'id' | 'body' | 'comments'>,
    signal?: AbortSignal,
  ): Promise<HostComment> => {
    const { headOid } = await host.readPull(repository, number, signal)
    const row = { ...SERVICE, ...written, state: 'commented', head_oid: headOid, created_at: clock.now() } as const
    await sql.insertReview(db, { repositoryId: repository.repositoryId, number }, row)
    return toComment(repository, number, written.id)
  }
  const toComment = ({ repositoryId }: RepositoryRef, number: number, id: string): HostComment => ({
    id,
    url: `${consoleUrl()}/pulls/${repositoryId}/${number}#${id}`,
  })
  const findOwn: HostFollowing['findReply'] = async (repository, at, marker) => {
    const id = await sql.findOwnReview(db, { repositoryId: repository.repositoryId, ...at }, marker)
    return id === null ? null : toComment(repository, at.number, id)
  }
  return {
    rightOf: async ({ repositoryId }, login) => ((await sql.hasReviewer(db, repositoryId, login)) ? 'write' : 'none'),
    findOwnComment: findOwn,
    findReply: findOwn,

    addComment: (repository, number, body, signal) =>
      write(repository, number, { id: randomUUID(), body, comments: [] }, signal),

    editComment: async (repository, id, body) => {
      const number = await sql.editOwnReview(db, { repositoryId: repository.repositoryId, id }, body)
      if (number === null) throw new GitHostError('not_found', 'there is no such comment')
      return toComment(repository, number, id)
    },

    reply: async (repository, number, { threadId }, body, signal) => {
      const id = randomUUID()
      const reviews = await sql.listReviews(db, { repositoryId: repository.repositoryId, number })
      const root = reviews.flatMap(({ comments }) => comments).find(comment => comment.threadId === threadId)
      if (root === undefined) return write(repository, number, { id, body, comments: [] }, signal)
      const answer = { ...root, id: `${id}.0`, body }
      return write(repository, number, { id, body: '', comments: [answer] }, signal)
    },

    observe: async (repository, number, since, signal) => {
      const found = await observe(repository, number, signal)
      const cursor = `local:${createHash('sha256').update(JSON.stringify(found)).digest('hex')}`
      return cursor === since ? null : { ...found, cursor }
    },

    checkLog: async ({ repositoryId }, { id, summary }, mostBytes) => {
      const [, oid, name] = CHECK.exec(id ?? '') ?? []
      const known = oid !== undefined && name !== undefined
      const output = known ? await readCheckOutput(db, repositoryId, { oid, name }) : null
      return endOf(output ?? summary ?? '', mostBytes)
    },
  }

  async function observe(
    repository: RepositoryRef,
    number: number,
    signal?: AbortSignal,
  ): Promise<Omit<Observation, 'cursor'>> {
    const pull = await host.readPull(repository, number, signal)
    const baseOid = await tipOf(repository, pull.baseBranch, signal)
    const rows = await sql.listReviews(db, { repositoryId: repository.repositoryId, number })
    return {
      pull,
      baseOid,
      branchDeleted: pull.state === 'closed' && (await tipOf(repository, pull.headBranch, signal)) === null,
      ...{ locked: false, labels: [], assignees: [] },
      checks: await checksOf(repository, pull),
      ...talkOf(rows, pull.headOid),
    }
  }

  async function checksOf(repository: RepositoryRef, pull: HostPull): Promise<FollowedCheck[]> {
    const checks = (await host.readChecks(repository, pull)) ?? []
    const reported = await listChecks(db, repository.repositoryId, pull.headOid)
    const known = new Map(reported.map(check => [check.name, check]))
    return checks.map((check): FollowedCheck => {
      const { output = null, updated_at: updatedAt = null } = known.get(check.name) ?? {}
      const ended = check.state === 'success' || check.state === 'failure'
      return {
        ...check,
        id: updatedAt === null ? null : `${pull.headOid}:${updatedAt.getTime()}:${check.name}`,
        conclusion: ended ? check.state : null,
        completedAt: ended ? updatedAt : null,
        summary: output === null || output === '' ? null : output.slice(-SUMMARY_CHARACTERS),
      }
    })
  }

  async function tipOf(repository: RepositoryRef, branch: string, signal?: AbortSignal): Promise<string | null> {
    try {
      return (await host.readBranch(repository, branch, signal)).oid
    } catch (error) {
      if (error instanceof GitHostError && error.subject === 'branch') return null
      throw error
    }
  }
}

/** A review that says nothing of the whole counts as single comments, and so does a comment. */
function talkOf(rows: readonly sql.LocalReviewRow[], headOid: string): Pick<Observation, 'reviews' | 'comments'> {
  const isReview = ({ state, comments }: sql.LocalReviewRow) => state !== 'commented' || comments.length > 1
  const reviews = rows.filter(isReview).map((row): FollowedReview => {
    const { id, state, body, created_at: submittedAt } = row
    return { id, ...by(row), state, body, submittedAt, comments: onLines(row, headOid) }
  })
  const comments = rows
    .filter(row => !isReview(row))
    .flatMap((row): FollowedComment[] => {
      const { id, body, created_at: createdAt } = row
      const whole = { id, ...by(row), path: null, line: null, threadId: null, body, createdAt }
      return [...(body === '' ? [] : [whole]), ...onLines(row, headOid)]
    })
  return { reviews, comments }
}

const onLines = (row: sql.LocalReviewRow, headOid: string): FollowedComment[] =>
  row.comments.map(comment => ({
    ...comment,
    ...by(row),
    line: row.head_oid === headOid ? comment.line : null,
    createdAt: row.created_at,
  }))

/** Names need not be unique here, so a login is an id. */
const by = ({ author_id: id, written_by: kind }: sql.LocalReviewRow) => ({
  author: { id, login: id },
  isBot: kind !== 'person',
  isOurs: kind === 'service',
})

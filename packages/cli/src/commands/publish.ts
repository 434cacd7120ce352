import { randomUUID } from 'node:crypto'
import { type Publication, pullRequestDraft, settled, type Verification } from '@berth/client'
import { deliveryError } from '../delivery-error.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printable, printableLine } from '../terminal-text.ts'
import { attachWorkspace, bringingBack } from './lapsed-workspace.ts'
import { progress } from './progress.ts'
import { printVerification, verify } from './verify.ts'

export interface PublishOptions {
  /** Absent: title and body are those of the agent's last message. */
  readonly title?: string
  readonly body?: string
  readonly branch?: string
  /** The branch that the person expects it to go to. */
  readonly base?: string
  readonly revision?: string
  readonly draft?: boolean
  readonly direct?: boolean
  readonly json?: boolean
  readonly restore?: boolean
  /** Has the revision verified first, and publishes it only if that has passed. */
  readonly verified?: boolean
}

/**
 * Publishes a Session's changes, or a reviewed revision of them, and waits for the outcome. A delivery compares the workspace
 * with the revision, so a workspace that has lapsed is brought back.
 */
export async function publish(sessionId: string, options: PublishOptions, io: CommandIo): Promise<ExitCode> {
  const { client, stdout } = io
  const { branch, draft, direct } = options
  if (direct && (draft || branch !== undefined))
    throw new UsageError('--direct cannot be combined with --draft or --branch')
  if (options.base !== undefined) await requireTarget(sessionId, options.base, client)
  const id = randomUUID()
  const say = progress(io, options.json === true)
  if (options.restore) await attachWorkspace(sessionId, io)
  let failed: Verification | null = null
  await bringingBack(sessionId, io, async () => {
    if (options.revision === undefined) await say('reading the changes')
    const revision = options.revision ?? (await client.call('reviewRepository', { sessionId })).review.revision
    const { title, body } =
      options.title === undefined
        ? await draftFor(sessionId, options, client)
        : { title: options.title, body: options.body }
    if (options.verified) {
      await say('checking them in a fresh sandbox')
      const verification = await verify(sessionId, revision, io)
      failed = verification.state === 'passed' ? null : verification
      if (failed !== null) return
    }
    await say('publishing them')
    await client.call('createPublication', {
      sessionId,
      publicationId: id,
      body: {
        revision,
        title,
        delivery: direct ? 'direct_branch' : 'pull_request',
        ...(body !== undefined && { body }),
        ...(branch !== undefined && { branch }),
        ...(draft && { draft }),
        ...(options.verified && { verified: true }),
      },
    })
  })
  if (failed !== null) {
    await printVerification(failed, { ...io, stdout: io.stderr })
    return exitCode.failed
  }
  await say('waiting for the Git host')
  const publication = await settled(
    async () => (await client.call('getPublication', { sessionId, publicationId: id })).publication,
    ({ completedAt }) => completedAt !== undefined,
  )
  await stdout.line(options.json ? jsonLine(publication) : printableLine(resultOf(publication)))
  return publication.status === 'succeeded' ? exitCode.completed : exitCode.failed
}

/** @throws UsageError if there is nothing to make a title of */
async function draftFor(sessionId: string, { body: given }: PublishOptions, client: CommandIo['client']) {
  const { session } = await client.call('getSession', { sessionId })
  const runId = session.lastRun?.id
  const run = runId === undefined ? null : (await client.call('getRun', { sessionId, runId })).run
  const { title, body } = pullRequestDraft(run?.result?.summary ?? '', session.title)
  if (title === '') throw new UsageError('the session has no title; give one by --title')
  return { title: printableLine(title), body: given ?? printable(body) }
}

/** A Session delivers to the branch that it started from, so another one cannot be chosen any more. */
async function requireTarget(sessionId: string, base: string, client: CommandIo['client']): Promise<void> {
  const { baseBranch } = (await client.call('getSession', { sessionId })).session.source ?? {}
  if (baseBranch === undefined || baseBranch === base) return
  throw new UsageError(
    `the session started from ${baseBranch}, and its changes go there; \`berth run --base ${base}\` starts one from ${base}`,
  )
}

function resultOf({ id, delivery, result, lastError }: Publication): string {
  if (result === undefined) return `publication ${id} failed: ${deliveryError(lastError)}`
  const { branch, commitSha, pullRequest } = result
  const first = delivery === 'pull_request' ? ' as the first commit of the repository' : ''
  const what =
    pullRequest === undefined ? `pushed to ${branch}${first}` : `pull request #${pullRequest.number} ${pullRequest.url}`
  return `publication ${id} ${commitSha.slice(0, 12)} ${what}`
}

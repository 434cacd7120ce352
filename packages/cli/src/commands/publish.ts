import { randomUUID } from 'node:crypto'
import { type Publication, settled } from '@berth/client'
import { deliveryError } from '../delivery-error.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { withWorkspace } from './lapsed-workspace.ts'

export interface PublishOptions {
  readonly title: string
  readonly body?: string
  readonly branch?: string
  readonly revision?: string
  readonly draft?: boolean
  readonly direct?: boolean
  readonly json?: boolean
  readonly restore?: boolean
}

/** Publishes a Session's changes, or a reviewed revision of them, and waits for the outcome. */
export async function publish(sessionId: string, options: PublishOptions, io: CommandIo): Promise<ExitCode> {
  const { client, stdout } = io
  const { title, body, branch, draft, direct } = options
  if (direct && (draft || branch !== undefined))
    throw new UsageError('--direct cannot be combined with --draft or --branch')
  const id = randomUUID()
  await withWorkspace(sessionId, options.restore, io, async () => {
    const revision = options.revision ?? (await client.publications.review(sessionId)).review.revision
    await client.publications.put(sessionId, id, {
      revision,
      title,
      delivery: direct ? 'direct_branch' : 'pull_request',
      ...(body !== undefined && { body }),
      ...(branch !== undefined && { branch }),
      ...(draft && { draft }),
    })
  })
  const publication = await settled(
    async () => (await client.publications.get(sessionId, id)).publication,
    ({ completedAt }) => completedAt !== undefined,
  )
  await stdout.line(options.json ? jsonLine(publication) : printableLine(resultOf(publication)))
  return publication.status === 'succeeded' ? exitCode.completed : exitCode.failed
}

function resultOf({ id, result, lastError }: Publication): string {
  if (result === undefined) return `publication ${id} failed: ${deliveryError(lastError)}`
  const { branch, commitSha, pullRequest } = result
  const what =
    pullRequest === undefined ? `pushed to ${branch}` : `pull request #${pullRequest.number} ${pullRequest.url}`
  return `publication ${id} ${commitSha.slice(0, 12)} ${what}`
}

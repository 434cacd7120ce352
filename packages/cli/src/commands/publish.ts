import { randomUUID } from 'node:crypto'
import { type Publication, readPullRequestDraft, settled, type Verification } from '@berth/client'
import { deliveryError } from '../delivery-error.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printable, printableLine } from '../terminal-text.ts'
import { attachWorkspace, bringingBack } from './lapsed-workspace.ts'
import { progress } from './progress.ts'
import { factLines, type PublicationFacts, publicationFacts } from './publication-facts.ts'
import { type FollowOptions, followUpOf, requireFollow } from './pull-requests.ts'
import { readChanges } from './review.ts'
import { printVerification, verify } from './verify.ts'

export interface PublishOptions extends FollowOptions {
  /** Absent: title and body are those of the agent's last message. */
  readonly title?: string
  readonly body?: string
  readonly branch?: string
  /** The branch that the person expects it to go to. */
  readonly base?: string
  readonly revision?: string
  readonly draft?: boolean
  readonly direct?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
  readonly restore?: boolean
  /** Has the revision verified first, and publishes it only if that has passed. */
  readonly verified?: boolean
  /** Has the service carry the pull request on until it is merged. */
  readonly follow?: boolean
}

/**
 * Publishes a Session's changes, or a reviewed revision of them, and waits for the outcome. Before that it shows what a
 * reader must not miss of the change, and the claims of its text that the revision does not bear out. A delivery compares
 * the workspace with the revision, so a workspace that has lapsed is brought back.
 */
export async function publish(sessionId: string, options: PublishOptions, io: CommandIo): Promise<ExitCode> {
  const { client, stdout } = io
  const { branch, draft, direct } = options
  if (direct && (draft || branch !== undefined))
    throw new UsageError('--direct cannot be combined with --draft or --branch')
  if (direct && options.follow) throw new UsageError('--direct opens no pull request to follow')
  requireFollow(options.follow, options)
  if (options.base !== undefined) await requireTarget(sessionId, options.base, client)
  const report = progress(io, options.json === true)
  if (options.restore) await attachWorkspace(sessionId, io)
  if (options.dryRun) {
    await report('reading the changes')
    await showPublication(sessionId, options, io)
    return exitCode.completed
  }
  const id = randomUUID()
  let isShown = false
  const { failed, facts } = await bringingBack(sessionId, io, async (): Promise<Gathered> => {
    await report('reading the changes')
    const query = options.revision === undefined ? {} : { query: { revision: options.revision } }
    const { review } = await client.call('reviewRepository', { sessionId, ...query })
    const { revision } = review
    const { title, body } = await textFor(sessionId, options, client)
    if (options.verified) {
      await report('checking them in a fresh sandbox')
      const verification = await verify(sessionId, revision, io)
      if (verification.state !== 'passed') return { failed: verification, facts: null }
    }
    const facts = await publicationFacts(client, sessionId, review, { title, body, verified: options.verified })
    if (!options.json && !isShown)
      for (const line of factLines(facts, sessionId)) await io.stderr.line(`berth: ${line}`)
    isShown = true
    await report('publishing them')
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
        ...(options.follow && { followUp: followUpOf(options) }),
      },
    })
    return { failed: null, facts }
  })
  if (failed !== null) {
    await printVerification(failed, { ...io, stdout: io.stderr })
    return exitCode.failed
  }
  await report('waiting for the Git host')
  const publication = await settled(
    async () => (await client.call('getPublication', { sessionId, publicationId: id })).publication,
    ({ completedAt }) => completedAt !== undefined,
  )
  await stdout.line(options.json ? jsonLine({ ...publication, ...facts }) : printableLine(resultOf(publication)))
  const isFollowed = options.follow === true && publication.result?.pullRequest !== undefined
  if (isFollowed) await report(`following it; \`berth pr show ${sessionId}\` says how it stands`)
  return publication.status === 'succeeded' ? exitCode.completed : exitCode.failed
}

/** What came of asking for a Publication: the verification that kept it back, or what was said before it. */
type Gathered =
  | { readonly failed: Verification; readonly facts: null }
  | { readonly failed: null; readonly facts: PublicationFacts }

/** @throws UsageError if there is nothing to make a title of */
async function textFor(
  sessionId: string,
  { title: own, body: given }: PublishOptions,
  client: CommandIo['client'],
): Promise<{ readonly title: string; readonly body: string | undefined }> {
  if (own !== undefined) return { title: own, body: given }
  const { title, body } = await readPullRequestDraft(client, sessionId)
  if (title === '') throw new UsageError('the session has no title; give one by --title')
  return { title: printableLine(title), body: given ?? printable(body) }
}

/** Shows what would be published, and what is to be said of it before. */
async function showPublication(sessionId: string, options: PublishOptions, io: CommandIo): Promise<void> {
  const { client, stdout } = io
  const review = await readChanges(sessionId, io, options.revision)
  const { revision, files, targetBranch } = review
  const { title, body = '' } = await textFor(sessionId, options, client)
  const facts = await publicationFacts(client, sessionId, review, { title, body })
  if (options.json) return await stdout.line(jsonLine({ revision, title, body, targetBranch, ...facts }))
  await stdout.line(`would publish revision ${revision}`)
  await stdout.line(
    `${files.length === 1 ? '1 file' : `${files.length} files`} ${options.direct ? 'on' : 'as a pull request into'} ${printableLine(targetBranch)}: ${printableLine(title)}`,
  )
  for (const line of factLines(facts, sessionId)) await stdout.line(line)
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

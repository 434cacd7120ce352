import type { CallOptions } from './call-options.ts'
import type { BerthClient } from './client.ts'
import type { Verification } from './generated/types.ts'
import { pullRequestDraft } from './pull-request-draft.ts'

/**
 * Returns the draft of a Session's pull request: the last message of its newest Run, below the Session's title unless that
 * message begins with one.
 */
export async function readPullRequestDraft(
  client: BerthClient,
  sessionId: string,
  options?: CallOptions,
): Promise<ReturnType<typeof pullRequestDraft>> {
  const { session } = await client.call('getSession', { sessionId }, options)
  const runId = session.lastRun?.id
  const run = runId === undefined ? null : (await client.call('getRun', { sessionId, runId }, options)).run
  return pullRequestDraft(run?.result?.summary ?? '', session.title)
}

/** Returns whether a revision's newest verification that came to a result has passed. */
export async function hasPassed(
  client: BerthClient,
  { sessionId, revision }: { readonly sessionId: string; readonly revision: string },
  options?: CallOptions,
): Promise<boolean> {
  const { verifications } = await client.call('listVerifications', { sessionId, query: { limit: 50 } }, options)
  return verifications.find(made => made.revision === revision && isResult(made))?.state === 'passed'
}

/** A verification that could not run says nothing of the change. */
const isResult = ({ state }: Verification): boolean => state === 'passed' || state === 'failed'

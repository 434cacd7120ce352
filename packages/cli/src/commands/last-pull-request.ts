import type { BerthClient } from '@berth/client'
import { UsageError } from '../failure.ts'

/**
 * Returns the id of the newest Publication of a Session that has a pull request.
 * @throws UsageError if there is none
 */
export async function lastPullRequest(client: BerthClient, sessionId: string): Promise<string> {
  for await (const { id, result } of client.items('listPublications', { sessionId })) {
    if (result?.pullRequest !== undefined) return id
  }
  throw new UsageError('the session has no pull request; `berth publish` opens one')
}

import { BerthError } from '@berth/client'
import { berth } from '../api/client.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'

/** How long the service is asked again while it brings a sandbox back. */
const WITHIN_MS = 180_000

const isAway = ({ code }: BerthError): boolean =>
  code === 'cloud_workspace_expired' || code === 'cloud_workspace_starting'

/**
 * Does something that needs the sandbox of a Session. If that is gone, it is brought back first.
 * @throws BerthError
 */
export async function withSandbox<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof BerthError) || !isAway(error)) throw error
  }
  for (const begun = performance.now(); ; ) {
    try {
      const { session } = await berth.call('restoreWorkspace', { sessionId })
      queryClient.setQueryData(sessionQuery(sessionId).queryKey, session)
      return await work()
    } catch (error) {
      const isStarting = error instanceof BerthError && error.code === 'cloud_workspace_starting'
      if (!isStarting || performance.now() - begun > WITHIN_MS) throw error
      await new Promise(resolve => setTimeout(resolve, 1000 * (error.retryAfterSeconds ?? 1)))
    }
  }
}

import { BerthError } from '@berth/client'
import type { CommandIo } from '../io.ts'

/** How long the service is asked again while it attaches the workspace. */
const restoreMs = 120_000

/** Attaches the workspace, and waits while the service is at it. No agent runs for it. */
export async function attachWorkspace(
  sessionId: string,
  { client, stderr }: Pick<CommandIo, 'client' | 'stderr'>,
): Promise<void> {
  const { platform } = client
  const begun = platform.now()
  for (let isRepeated = false; ; isRepeated = true) {
    try {
      await client.call('restoreWorkspace', { sessionId })
      return
    } catch (failure) {
      const isStarting = failure instanceof BerthError && failure.code === 'cloud_workspace_starting'
      if (!isStarting || platform.now() - begun > restoreMs) throw failure
      if (!isRepeated) await stderr.line('berth: attaching the workspace')
      await platform.sleep(Math.max(1, failure.retryAfterSeconds ?? 1) * 1000)
    }
  }
}

/** Returns true for the refusal of a request that needs the workspace. */
export const hasLapsed = (failure: unknown): failure is BerthError =>
  failure instanceof BerthError && failure.code === 'cloud_workspace_expired'

/** Does something that needs the workspace, and again once it is attached if it had lapsed. */
export async function bringingBack<T>(sessionId: string, io: CommandIo, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (failure) {
    if (!hasLapsed(failure)) throw failure
    await attachWorkspace(sessionId, io)
    return work()
  }
}

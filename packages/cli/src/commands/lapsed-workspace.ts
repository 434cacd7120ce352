import { BerthError } from '@berth/client'
import type { CommandIo } from '../io.ts'
import { printableLine } from '../terminal-text.ts'

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

/**
 * Does something that needs the workspace. If that has lapsed, it is attached first if `restore` says so; else the error
 * names the command that does, because a Run would do the same for the price of a Run.
 */
export async function withWorkspace<T>(
  sessionId: string,
  restore: boolean | undefined,
  io: CommandIo,
  work: () => Promise<T>,
): Promise<T> {
  if (restore) await attachWorkspace(sessionId, io)
  try {
    return await work()
  } catch (failure) {
    if (!(failure instanceof BerthError) || failure.code !== 'cloud_workspace_expired') throw failure
    throw new Error(
      `the session's workspace has lapsed; attach it again without a run, with \`berth workspace restore ${printableLine(sessionId)}\`, or with --restore here (${failure.code})`,
    )
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { BerthError } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

export interface WorkspaceOptions {
  readonly json?: boolean
}

/** Attaches the workspace of a Session, and says until when. */
export async function restoreWorkspace(
  sessionId: string,
  { json }: WorkspaceOptions,
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  const { session } = await client.call('restoreWorkspace', { sessionId })
  const until = session.workspace.expiresAt ?? 'its next turn'
  await stdout.line(
    json ? jsonLine(session) : printableLine(`the workspace of session ${session.id} is attached until ${until}`),
  )
  return exitCode.completed
}

/** Gives the workspace of a Session back. Work that is being sealed comes first, so it waits for that. */
export async function releaseWorkspace(
  sessionId: string,
  { json }: WorkspaceOptions,
  { client, stdout }: CommandIo,
): Promise<ExitCode> {
  for (;;) {
    try {
      await client.call('releaseWorkspace', { sessionId })
      break
    } catch (failure) {
      if (!(failure instanceof BerthError)) throw failure
      if (failure.code === 'cloud_resume_unavailable') {
        throw new Error(
          'the workspace was not given back, because it alone holds the work of the last run: that run is not sealed',
        )
      }
      if (failure.code !== 'cloud_session_finalizing') throw failure
      await sleep(250)
    }
  }
  await stdout.line(
    json
      ? jsonLine((await client.call('getSession', { sessionId })).session)
      : printableLine(`session ${sessionId} holds no workspace; its next turn gets a fresh one with its work restored`),
  )
  return exitCode.completed
}

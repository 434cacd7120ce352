import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

/** Asks a Run to stop, by default the Session's active one. If there is none, the command still succeeds. */
export async function cancel(
  sessionId: string,
  runId: string | undefined,
  options: { readonly json?: boolean },
  { client, stdout, stderr }: CommandIo,
): Promise<ExitCode> {
  const wanted = runId ?? (await client.call('getSession', { sessionId })).session.activeRunId
  if (wanted === undefined) {
    await stderr.line('berth: the session has no active run')
    return exitCode.completed
  }
  const { run } = await client.call('cancelRun', { sessionId, runId: wanted })
  await stdout.line(options.json ? jsonLine(run) : printableLine(`run ${run.id} ${cancelText(run)}`))
  return exitCode.completed
}

function cancelText(run: { readonly status: string; readonly endedAt?: string }): string {
  return run.endedAt === undefined ? `${run.status}, cancellation requested` : run.status
}

import { randomUUID } from 'node:crypto'
import { type CheckResult, settled, type Verification } from '@berth/client'
import { formatDuration } from '@berth/client/transcript'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { printable, printableLine } from '../terminal-text.ts'

/** Has a revision of a Session verified, or finds that it was, and waits for the end. */
export async function verify(
  sessionId: string,
  revision: string,
  { client }: Pick<CommandIo, 'client'>,
): Promise<Verification> {
  const verificationId = randomUUID()
  await client.call('createVerification', { sessionId, verificationId, body: { revision } })
  return settled(
    async () => (await client.call('getVerification', { sessionId, verificationId })).verification,
    ({ completedAt }) => completedAt !== undefined,
  )
}

/** Prints each check, what those that failed have written last, and how the verification has ended. */
export async function printVerification(verification: Verification, { stdout }: CommandIo): Promise<ExitCode> {
  const { checks, counts, error, reusedFrom, state } = verification
  for (const check of checks) {
    await stdout.line(checkLine(check))
    if (check.state === 'failed') await indented(check.outputTail, stdout)
  }
  if (error?.outputTail !== undefined) await indented(error.outputTail, stdout)
  const before = reusedFrom === undefined ? '' : `, as verification ${printableLine(reusedFrom)} found`
  const ran = `${counts.passed} of ${counts.passed + counts.failed} checks passed${before}`
  const ends = state === 'passed' || state === 'failed' ? ran : `the checks could not be run: ${error?.code ?? state}`
  await stdout.line(printableLine(`verification ${verification.id} ${state}: ${ends}`))
  return state === 'passed' ? exitCode.completed : exitCode.failed
}

function checkLine({ name, state, required, exitCode: code, timedOut, durationMs }: CheckResult): string {
  const time = durationMs === undefined ? '' : `  ${formatDuration(durationMs)}`
  const how = timedOut ? '  its time was over' : state === 'failed' && code != null ? `  exit code ${code}` : ''
  return `${state.padEnd(8)}  ${printableLine(name)}${time}${how}${required ? '' : '  not required'}`
}

async function indented(text: string | undefined, stdout: CommandIo['stdout']): Promise<void> {
  const lines = printable(text ?? '').trimEnd()
  if (lines !== '') for (const line of lines.split('\n')) await stdout.line(`    ${line}`)
}

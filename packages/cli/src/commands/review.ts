import type { Review, ReviewFile } from '@berth/client'
import { signalLabel, signalMore } from '@berth/contract/signal-labels'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { printPatch } from '../patch.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { attachWorkspace, hasLapsed } from './lapsed-workspace.ts'
import { progress } from './progress.ts'
import { printVerification, verify } from './verify.ts'

export interface ReviewOptions {
  readonly patch?: boolean
  readonly json?: boolean
  readonly restore?: boolean
  /** Has the revision verified, and shows how that ended. */
  readonly verify?: boolean
}

/** Shows a Session's changes: the revision to publish, and the files or the patch, or what the checks say of it. */
export async function review(sessionId: string, options: ReviewOptions, io: CommandIo): Promise<ExitCode> {
  if (options.restore) await attachWorkspace(sessionId, io)
  await progress(io, options.json === true)('reading the changes')
  const made = await readChanges(sessionId, io)
  const { stdout, stderr } = io
  if (options.verify) {
    await progress(io, options.json === true)('checking them in a fresh sandbox')
    const verification = await verify(sessionId, made.revision, io)
    if (!options.json) return printVerification(verification, io)
    await stdout.line(jsonLine(verification))
    return verification.state === 'passed' ? exitCode.completed : exitCode.failed
  }
  if (options.json) await stdout.line(jsonLine(made))
  else if (options.patch) {
    await printPatch(made.patch, stdout)
    if (!stdout.isTTY && made.patch.includes('\ufffd'))
      await stderr.line('berth: the patch has U+FFFD, which may stand for bytes that are not UTF-8; do not apply it')
    if (made.patchTruncated) await stderr.line('berth: the patch is too long and was cut')
  } else {
    await stdout.line(`revision ${made.revision}`)
    for (const file of made.files) await stdout.line(fileLine(file))
    for (const signal of made.signals) await stdout.line(signalLine(signal))
    for (const note of made.notes ?? []) await stderr.line(`berth: ${printableLine(note)}`)
    await stdout.line(
      `${made.files.length === 1 ? '1 file' : `${made.files.length} files`}, +${made.additions} -${made.deletions} on ${printableLine(made.targetBranch)}`,
    )
  }
  return exitCode.completed
}

/** Reads the changes as they are, or as they were stored: if a revision is given, or if the workspace has lapsed. */
export async function readChanges(
  sessionId: string,
  { client, stderr }: CommandIo,
  revision?: string,
): Promise<Review> {
  try {
    return (
      await client.call('reviewRepository', { sessionId, ...(revision !== undefined && { query: { revision } }) })
    ).review
  } catch (failure) {
    if (!hasLapsed(failure)) throw failure
    const { changes = null } = (await client.call('getSession', { sessionId })).session
    if (changes === null)
      throw new Error(
        `the session's workspace has lapsed; attach it again without a run, with \`berth workspace restore ${printableLine(sessionId)}\`, or with --restore here (${failure.code})`,
      )
    await stderr.line('berth: the workspace has lapsed; these are the changes as they were stored')
    return (await client.call('reviewRepository', { sessionId, query: { revision: changes.revision } })).review
  }
}

/** Names a fact of the change as `file:line`, which terminals and editors open. Lines that went have a minus. */
export function signalLine(signal: Review['signals'][number]): string {
  const { kind, path, lines, detail } = signal
  const places = lines.map(({ side, number }) => `${side === 'before' ? '-' : ''}${number}`).join(',')
  const place = `${printableLine(path)}${places === '' ? '' : `:${places}`}${signalMore(signal)}`
  return `! ${signalLabel(kind)}: ${place}${detail === undefined ? '' : `  ${printableLine(detail)}`}`
}

function fileLine(file: ReviewFile): string {
  const { status, path, previousPath, additions, deletions, binary, target } = file
  const name = previousPath === undefined ? path : `${previousPath} -> ${path}`
  const counts = binary ? 'binary' : `+${additions} -${deletions}`
  const link = target === undefined ? '' : ` → ${printableLine(target)}`
  return `${status.padEnd(8)}  ${counts}  ${printableLine(name)}${link}${modeText(file)}`
}

/** Names the changes that no count of lines shows. */
function modeText({ mode, previousMode }: ReviewFile): string {
  if (mode === undefined) return ''
  return previousMode === undefined ? `  mode ${mode}` : `  mode ${previousMode} → ${mode}`
}

import { type Environment, type EnvironmentTrial, type Event, ifRevision } from '@berth/client'
import { changedMembers, complete, plain } from '@berth/client/documents'
import { applyOutcome, textOf } from '@berth/client/transcript'
import { sourceOf } from '../commands/session-source.ts'
import { outputText } from '../event-lines.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { explain, UsageError } from '../failure.ts'
import { onInterrupt } from '../interrupts.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { applyFacts } from './apply-log.ts'
import { findFile } from './environment-file.ts'
import { findNamedOrFiled } from './find-environment.ts'
import { followApply } from './follow-apply.ts'
import type { JsonOption } from './show.ts'
import { makeTemporary } from './temporary-environment.ts'

export interface TestOptions extends JsonOption {
  /** Tries this file instead of an environment's newest revision. */
  readonly file?: string
  readonly runtime: string
  readonly repository?: string
  readonly base?: string
}

/** Why a trial ended before its environment was applied. */
const noApply: ReadonlyMap<string, string> = new Map(
  Object.entries({
    asked: 'somebody else stopped the trial',
    overdue: 'the trial took longer than the service allows',
  }),
)

/**
 * Applies an environment in a sandbox of its own, shows the log while it happens, and gives the sandbox back. The first
 * interrupt ends the test, the second leaves without cleaning up.
 */
export async function testEnvironment(
  named: string | undefined,
  options: TestOptions & { readonly defaultFile: string },
  io: CommandIo,
): Promise<ExitCode> {
  const { file, runtime, repository, base } = options
  if (named !== undefined && file !== undefined) throw new UsageError('name an environment or --file, not both')
  if (base !== undefined && repository === undefined) throw new UsageError('--base needs --repository')
  const [stop, leave] = [new AbortController(), new AbortController()]
  using _interrupts = onInterrupt(count => (count === 1 ? stop : leave).abort())
  await using made = new AsyncDisposableStack()
  const cleaning = (what: string, work: () => Promise<unknown>) =>
    made.defer(() => cleanUp(what, work, leave.signal, io))

  const environment = await chosen()
  if (environment === null) return exitCode.failed
  if (stop.signal.aborted) return exitCode.cancelled
  const source = repository === undefined ? {} : { source: await sourceOf(io, repository, base) }
  const environmentId = environment.id
  const start = { environmentId, body: { runtime, ...source } }
  const { trial } = await io.client.call('startEnvironmentTrial', start, { signal: leave.signal })
  let end: EnvironmentTrial | null = null
  // The service gives the sandbox back by itself once the apply has ended.
  cleaning(`trial ${trial.id} was not stopped`, async () => {
    if (end !== null) return
    await io.client.call('stopEnvironmentTrial', { environmentId, trialId: trial.id }, { signal: leave.signal })
  })
  const show = options.json === true ? jsonView(io) : textView(environment, io)
  const notice = (text: string) => io.stderr.line(`berth: ${printableLine(text)}`)
  end = await followApply({ client: io.client, trial, signal: stop.signal, stdout: io.stdout, show, notice })
  if (end === null) return exitCode.cancelled
  if (end.result === null) await notice(noApply.get(end.stopReason ?? '') ?? 'the service could not make a sandbox')
  return end.state === 'succeeded' ? exitCode.completed : exitCode.failed

  async function chosen(): Promise<Environment | null> {
    if (file !== undefined) {
      const temporary = await makeTemporary(file, io)
      if (temporary === null) return null
      const { id, revision } = temporary
      cleaning(`environment ${temporary.name} was not archived`, () =>
        io.client.call(
          'archiveEnvironment',
          { environmentId: id, headers: ifRevision(revision) },
          { signal: leave.signal },
        ),
      )
      return temporary
    }
    const found = await findNamedOrFiled(io.client, named, options.defaultFile)
    if (named === undefined) await warnOfChanges(found, options.defaultFile, io)
    return found
  }
}

/** Says so if the file has changes that a test of the newest revision does not show. */
async function warnOfChanges({ document, revision }: Environment, path: string, { stderr }: CommandIo): Promise<void> {
  const file = await findFile(path)
  if (file === null || changedMembers(plain(document), complete(file.document)).length === 0) return
  await stderr.line(
    `berth: ${printableLine(path)} differs from revision ${revision}, which is tested; --file ${printableLine(path)} tests the file`,
  )
}

async function cleanUp(
  what: string,
  work: () => Promise<unknown>,
  left: AbortSignal,
  { connection, stderr }: CommandIo,
): Promise<void> {
  try {
    left.throwIfAborted()
    await work()
  } catch (failure) {
    const why = left.aborted ? 'interrupted' : explain(failure, connection).line
    await stderr.line(`berth: ${printableLine(`${what}: ${why}`)}`)
  }
}

const jsonView =
  ({ stdout }: CommandIo) =>
  (event: Event): Promise<void> =>
    stdout.line(jsonLine(event))

/** Shows the output as it comes, and the result. */
function textView({ name }: Environment, { stdout, stderr }: CommandIo) {
  let shown = ''
  return async (event: Event): Promise<void> => {
    if (event.type === 'svc.environment.output') {
      const text = outputText(textOf(event, 'text'))
      shown = (shown + text).slice(-64 * 1024)
      await stdout.write(text)
      return
    }
    const revision = `revision ${String(event.data.revision)}`
    if (textOf(event, 'status') === 'started') {
      await stderr.line(`berth: ${printableLine(`applying ${revision} of ${name} to a fresh sandbox`)}`)
      return
    }
    if (shown !== '' && !shown.endsWith('\n')) await stdout.line('')
    // The log of a long setup ends before the setup does; its last part is always told.
    const tail = outputText(textOf(event, 'outputTail')).trimEnd()
    if (!shown.trimEnd().endsWith(tail)) await stdout.line(`[…]\n${tail}`)
    for (const fact of applyFacts(event)) await stdout.line(fact)
    const tone = textOf(event, 'status') === 'succeeded' ? 'green' : 'red'
    await stdout.line(stdout.paint(tone, `${printableLine(name)}, ${revision}: ${printableLine(applyOutcome(event))}`))
  }
}

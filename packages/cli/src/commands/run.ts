import { type BerthClient, type Effort, type Event, followPreviews, followRun, type SubmitTurn } from '@berth/client'
import { findEnvironment } from '../environments/find-environment.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { explain, UsageError } from '../failure.ts'
import { onInterrupt } from '../interrupts.ts'
import type { CommandIo } from '../io.ts'
import { budgetOf, type Dollars } from '../option-values.ts'
import { openRunView, type RunView } from '../run-view.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { type Admission, admitToNewSession, admitToSession } from './admit.ts'
import { noticeOf, paceOf } from './interruption-notice.ts'
import { sourceOf } from './session-source.ts'
import { readOutput, readTurn } from './turn-input.ts'

export interface RunOptions {
  readonly session?: string
  readonly title?: string
  readonly runtime?: string
  readonly model?: string
  readonly effort?: Effort
  readonly budget?: Dollars
  readonly repository?: string
  readonly base?: string
  /** The same as `base`. */
  readonly branch?: string
  readonly environment?: string
  readonly file: readonly string[]
  /** File with a JSON Schema. */
  readonly outputSchema?: string
  /** The message is for the agent at work. */
  readonly steer?: boolean
  /** The newest commits of the base come into the workspace before the agent begins. */
  readonly updateFromBase?: boolean
  readonly follow?: boolean
  readonly json?: boolean
}

/** Sends a message to a new or an existing Session and, with `--follow`, waits until its Run has ended. */
export async function run(message: string, options: RunOptions, io: CommandIo): Promise<ExitCode> {
  const { session, title, runtime, model, effort, budget, repository, environment } = options
  const base = baseOf(options)
  const forNew = [title, runtime, model, effort, budget, repository, environment]
  if (session !== undefined && forNew.some(value => value !== undefined)) {
    throw new UsageError(
      '--title, --runtime, --model, --effort, --budget, --environment and --repository are for a new session and cannot be combined with --session',
    )
  }
  if (options.steer === true && session === undefined) throw new UsageError('--steer needs --session')
  if (options.updateFromBase === true && session === undefined) {
    throw new UsageError('--update-from-base needs --session: a new session begins at the newest commit')
  }
  if (base !== undefined && repository === undefined) throw new UsageError('--base needs --repository')
  const turn: SubmitTurn = {
    ...(await readTurn(message, options.file, io.stdin)),
    ...(await readOutput(options.outputSchema)),
    ...(options.steer === true && { mode: 'steer' }),
    ...(options.updateFromBase === true && { updateFromBase: true }),
  }
  const source = repository === undefined ? undefined : await sourceOf(io, repository, base)
  const create = source !== undefined && isPersonal(io) ? 'createOrganizationSession' : 'createSession'
  const binding = environment === undefined ? {} : { environment: await findBinding(io.client, environment) }
  const admit = (signal: AbortSignal) =>
    session === undefined
      ? admitToNewSession(
          io.client,
          create,
          {
            ...defined({ title, runtime, model, effort }),
            ...(budget !== undefined && { budget: budgetOf(budget) }),
            ...(source && { source }),
            ...binding,
          },
          turn,
          signal,
        )
      : admitToSession(io.client, session, turn, signal)
  if (options.follow) return follow(admit, options.json === true, io)
  await announce(await admit(new AbortController().signal), options.json === true, io)
  return exitCode.completed
}

function baseOf({ base, branch }: RunOptions): string | undefined {
  if (base !== undefined && branch !== undefined && base !== branch)
    throw new UsageError('--branch is the same as --base; give one of them')
  return base ?? branch
}

/** Returns the environment of a new Session; null: none. */
async function findBinding(client: BerthClient, named: string): Promise<{ id: string } | null> {
  return named === 'none' ? null : { id: (await findEnvironment(client, named)).id }
}

const isPersonal = ({ connection }: CommandIo): boolean => connection.origin.kind === 'profile'

async function announce(admission: Admission, json: boolean, { stdout }: CommandIo): Promise<void> {
  const { session, turnId, runId } = admission
  if (json) await stdout.line(jsonLine({ sessionId: session.id, sessionUrl: session.sessionUrl, turnId, runId }))
  else
    await stdout.line(`session ${printableLine(session.id)} ${stdout.paint('dim', printableLine(session.sessionUrl))}`)
}

/**
 * Follows the Run to its end. The first interrupt asks the Run to stop and waits for its end; the second leaves. An
 * interrupt during admission takes effect after it, because a Run that may have begun must not continue unseen.
 */
async function follow(
  admit: (signal: AbortSignal) => Promise<Admission>,
  json: boolean,
  io: CommandIo,
): Promise<ExitCode> {
  const leave = new AbortController()
  const cancel = Promise.withResolvers<void>()
  using _interrupts = onInterrupt(count => (count === 1 ? cancel.resolve() : leave.abort()))
  const admission = await admitUnlessLeft(admit, cancel.promise, leave.signal, io)
  if (admission === null) return exitCode.cancelled
  if (!json) await announce(admission, json, io)
  await using view = openRunView(io, json, admission.session)
  const ended = new AbortController()
  const cancelling = cancel.promise.then(() => requestCancel(io, admission, view, leave.signal, ended.signal))
  // A failure to cancel has been reported already, and the end is reported in any case.
  cancelling.catch(() => {})
  const watching = watchPreviews(io, admission, view, AbortSignal.any([leave.signal, ended.signal]))
  const end = await followToEnd(io, admission, view, leave.signal)
  ended.abort()
  await watching
  return end === null ? exitCode.cancelled : codeOf(end)
}

async function admitUnlessLeft(
  admit: (signal: AbortSignal) => Promise<Admission>,
  cancel: Promise<void>,
  leave: AbortSignal,
  { stderr }: CommandIo,
): Promise<Admission | null> {
  let admitting = true
  const report = async () => {
    if (admitting)
      await stderr.line('berth: cancelling once the turn is admitted; interrupt again to exit without cancelling')
  }
  cancel.then(report).catch(() => {})
  try {
    return await admit(leave)
  } catch (failure) {
    if (leave.aborted) return null
    throw failure
  } finally {
    admitting = false
  }
}

async function followToEnd(
  { client, stdout }: CommandIo,
  admission: Admission,
  view: RunView,
  signal: AbortSignal,
): Promise<Event | null> {
  const events = followRun({
    client,
    sessionId: admission.session.id,
    runId: admission.runId,
    after: admission.after,
    signal,
    ...paceOf(stdout),
    onInterruption: interruption => {
      const notice = noticeOf(interruption)
      if (notice !== null) view.notice(notice).catch(() => {})
    },
  })
  for (;;) {
    const step = await events.next()
    if (step.done) return step.value
    await view.event(step.value)
  }
}

/** Shows the message that the agent is writing before the log has it. A service without previews takes nothing from the view. */
async function watchPreviews(
  { client, stdout }: CommandIo,
  { session }: Admission,
  view: RunView,
  signal: AbortSignal,
): Promise<void> {
  if (view.preview === undefined) return
  try {
    for await (const preview of followPreviews(client, session.id, signal, paceOf(stdout))) view.preview(preview)
  } catch {
    // The log tells the same a little later.
  }
}

async function requestCancel(
  { client, connection }: CommandIo,
  admission: Admission,
  view: RunView,
  leave: AbortSignal,
  ended: AbortSignal,
): Promise<void> {
  if (ended.aborted) return
  await view.cancelling()
  try {
    await client.call(
      'cancelRun',
      { sessionId: admission.session.id, runId: admission.runId },
      { signal: AbortSignal.any([leave, ended]) },
    )
  } catch (failure) {
    if (!leave.aborted && !ended.aborted)
      await view.notice(`the run was not cancelled: ${explain(failure, connection).line}`)
  }
}

function codeOf(end: Event): ExitCode {
  if (end.type === 'svc.run.completed') return exitCode.completed
  return end.type === 'svc.run.cancelled' ? exitCode.cancelled : exitCode.failed
}

/** Drops undefined fields, so that the service applies its own defaults. */
function defined(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

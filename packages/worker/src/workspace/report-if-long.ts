import { randomUUID } from 'node:crypto'
import type { EventData } from '@berth/contract'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import type { Preview } from '@berth/core/sessions/previews/preview.ts'
import { PreviewWriter } from '@berth/core/sessions/previews/preview-writer.ts'
import { type Progress, withProgress } from '@berth/platform/kit/progress.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Claim, ClaimLost, WorkerStopping } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'

/** Names of the steps for people. */
const titles = {
  fetch_repository: 'Fetching the repository',
  bring_image: "Bringing the environment's image to this host",
  unpack_extensions: "Unpacking the environment's extensions",
  create_sandbox: 'Creating the sandbox',
  place_image: "Copying the environment's image",
  restore: 'Restoring the workspace',
  place_repository: 'Checking out the repository',
  bring_commits: 'Bringing commits into the workspace',
  start_agent: 'Starting the agent',
} as const

export type LongStep = keyof typeof titles

type ShownStep = NonNullable<Preview['steps']>[number]

/** The steps of each claim that go on and whose progress is known: two may go on at once, and a Run has one preview. */
const shown = new WeakMap<Claim, Map<string, ShownStep>>()

/** A step that brings a sandbox up, or its agent. */
export class StepReporter {
  readonly #context: ExecutionContext
  readonly #claim: Claim
  readonly #step: LongStep
  readonly #stepId = randomUUID()
  readonly #beganMs: number
  readonly #timer: NodeJS.Timeout
  #isReported: Promise<boolean> | undefined
  #progress: Progress | undefined
  #preview: PreviewWriter | undefined
  #forget: (() => void) | undefined

  /** Begins a step. If it has not ended in `reportStepMs`, an Event says that it goes on, and its end is an Event too. */
  constructor(context: ExecutionContext, claim: Claim, step: LongStep) {
    this.#context = context
    this.#claim = claim
    this.#step = step
    this.#beganMs = context.clock.now().getTime()
    this.#timer = setTimeout(() => {
      this.#isReported = this.#report('started')
      this.#show()
    }, context.limits.reportStepMs)
  }

  /** Shows whoever watches the Session how far the step has come, once it has taken long. */
  progress(progress: Progress): void {
    this.#progress = progress
    this.#show()
  }

  #show(): void {
    const { runId } = this.#claim
    const progress = this.#progress
    if (this.#isReported === undefined || progress === undefined || runId === null) return
    const steps = shown.get(this.#claim) ?? new Map<string, ShownStep>()
    shown.set(this.#claim, steps.set(this.#stepId, { stepId: this.#stepId, title: titles[this.#step], progress }))
    this.#preview ??= this.#open(runId, steps)
    this.#preview.changed()
  }

  #open(runId: string, steps: ReadonlyMap<string, ShownStep>): PreviewWriter {
    const { organizationId, sessionId } = this.#claim
    const present = () => ({ activities: [], steps: [...steps.values()] })
    const writer = new PreviewWriter(this.#context, this.#claim, runId, present)
    this.#forget = this.#context.wakeups.subscribe(topics.control(organizationId, sessionId), () => writer.watched())
    return writer
  }

  /** Ends the step. A step that ended quickly appends no Event. */
  async end(status: 'succeeded' | 'failed'): Promise<void> {
    await this.leave()
    const isReported = await this.#isReported
    this.#isReported = undefined
    if (isReported === true) await this.#report(status)
  }

  /** Leaves the step to another worker, or to the end of the Run. */
  async leave(): Promise<void> {
    clearTimeout(this.#timer)
    this.#forget?.()
    shown.get(this.#claim)?.delete(this.#stepId)
    await this.#preview?.[Symbol.asyncDispose]()
  }

  /** @returns true if the log has it; the step itself finds out that the claim is lost or the database is away */
  async #report(status: EventData<'svc.workspace.progress'>['status']): Promise<boolean> {
    const { clock, log, wakeups } = this.#context
    const { organizationId, sessionId, runId } = this.#claim
    const now = clock.now()
    const data = {
      ...{ stepId: this.#stepId, step: this.#step, title: titles[this.#step], status },
      ...(status !== 'started' && { durationMs: Math.max(0, now.getTime() - this.#beganMs) }),
    }
    const draft = { type: 'svc.workspace.progress', ...(runId !== null && { runId }), data } as const
    try {
      await underFence(this.#context, this.#claim, tx => appendEvents(tx, this.#claim, [draft], now))
    } catch (error) {
      log.info({ err: error, sessionId }, 'the progress of a workspace was not recorded')
      return false
    }
    wakeups.publish(topics.session(organizationId, sessionId))
    return true
  }
}

/**
 * Does a step that brings a sandbox up, and reports it in the log if it takes long.
 * @throws whatever `work` throws; an Event that cannot be appended fails nothing
 */
export async function reportIfLong<T>(
  context: ExecutionContext,
  claim: Claim,
  step: LongStep,
  work: () => Promise<T>,
): Promise<T> {
  const reporter = new StepReporter(context, claim, step)
  let result: T
  try {
    result = await withProgress(progress => reporter.progress(progress), work)
  } catch (error) {
    // The step is not over: another worker goes on with it.
    if (error instanceof WorkerStopping || error instanceof ClaimLost) await reporter.leave()
    else await reporter.end('failed')
    throw error
  }
  await reporter.end('succeeded')
  return result
}

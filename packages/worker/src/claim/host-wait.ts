import { addAbortListener } from 'node:events'
import { hostState } from '@berth/core/sessions/interactions/host-decision.ts'
import {
  askForHost,
  closeAllowedElsewhere,
  type HostAnswer,
  type HostQuestion,
} from '@berth/core/sessions/interactions/host-question.ts'
import { destinationOf, findHostFacts, markUsed } from '@berth/core/sessions/interactions/host-sql.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { BriefAnswers } from './brief-answers.ts'
import type { RunClaim } from './claim.ts'
import type { ExecutionContext } from './execution-context.ts'
import { underFence } from './under-fence.ts'

/** The parts of a worker that ask people about hosts. */
export type AskingContext = Pick<ExecutionContext, 'db' | 'clock' | 'wakeups' | 'log' | 'approvalRules'> & {
  readonly limits: Pick<ExecutionContext['limits'], 'approvalMs'>
}

/** What a wait is about. */
interface Waiting {
  readonly question: HostQuestion
  readonly asksPeople: boolean
  /** The sandbox's latest answers that cost much and change soon. */
  readonly brief: BriefAnswers
}

/** A claim of a Run, as far as it proves itself. */
type RunHold = Pick<RunClaim, 'organizationId' | 'sessionId' | 'token' | 'holder' | 'runId'>

/** What a connection is answered in the end. */
export type Answer = Exclude<HostAnswer, { readonly kind: 'open' | 'unasked' }>

/**
 * The wait of all connections of a sandbox to one host and port. It asks once, sleeps until a wake-up, and reads the rows
 * again: a decision, a deadline, and a host that was allowed elsewhere are each followed by one.
 *
 * No decision is kept here: the approval outlives the wait, and the next connection, at this worker or another, finds it.
 */
export class HostWait {
  readonly #context: AskingContext
  readonly #claim: RunHold
  readonly #question: HostQuestion
  readonly #asksPeople: boolean
  readonly #brief: BriefAnswers
  #wake = Promise.withResolvers<void>()

  constructor(context: AskingContext, claim: RunHold, { question, asksPeople, brief }: Waiting) {
    this.#context = context
    this.#claim = claim
    this.#question = question
    this.#asksPeople = asksPeople
    this.#brief = brief
  }

  /**
   * Waits for an answer.
   * @throws ClaimLost, DatabaseUnavailable, or the signal's reason
   */
  async answer(signal: AbortSignal): Promise<Answer> {
    const { wakeups } = this.#context
    const { organizationId, sessionId, environmentId } = this.#question
    const wake = () => {
      // Of many hosts, one may be decided.
      this.#brief.clear()
      this.#wake.resolve()
    }
    // Before the first look, so that no decision falls between the two.
    const ends = [
      wakeups.subscribe(topics.control(organizationId, sessionId), wake),
      wakeups.subscribe(topics.hosts(organizationId, environmentId), wake),
    ]
    using _listener = addAbortListener(signal, wake)
    try {
      for (;;) {
        signal.throwIfAborted()
        const state = await this.#read()
        if (state.kind !== 'open') return state
        await this.#wake.promise
        this.#wake = Promise.withResolvers()
      }
    } finally {
      for (const end of ends) end()
    }
  }

  async #read(): Promise<Answer | { readonly kind: 'open' }> {
    const { db, clock } = this.#context
    const { allowedBy, last } = await findHostFacts(db, this.#question)
    const state = hostState(allowedBy !== null, last, clock.now())
    if (state.kind === 'unasked') return this.#ask()
    if (state.kind === 'allowed' && state.unused !== null) await markUsed(db, this.#question, state.unused, clock.now())
    if (allowedBy !== null && last?.status === 'open') await this.#closeOpen()
    return state
  }

  async #ask(): Promise<Answer | { readonly kind: 'open' }> {
    const known = this.#brief.find(destinationOf(this.#question))
    if (known !== undefined) return known
    const { clock, wakeups, approvalRules: rules, limits } = this.#context
    const { organizationId, sessionId } = this.#question
    const answer = await underFence(this.#context, this.#claim, async (tx, task): Promise<HostAnswer> => {
      if (task !== 'run') return { kind: 'ending' }
      const by = { rules, approvalMs: limits.approvalMs, asksPeople: this.#asksPeople }
      return askForHost(tx, this.#question, by, clock.now())
    })
    this.#brief.keep(destinationOf(this.#question), answer)
    wakeups.publish(topics.session(organizationId, sessionId))
    if (answer.kind === 'allowed' && answer.unused !== null) {
      await markUsed(this.#context.db, this.#question, answer.unused, clock.now())
    }
    // Whatever is unasked again was decided and used up within this look.
    return answer.kind === 'unasked' ? { kind: 'crowded' } : answer
  }

  /** The approval is of no use any more; if it cannot be closed now, its deadline closes it. */
  async #closeOpen(): Promise<void> {
    const { clock, log, wakeups } = this.#context
    const { organizationId, sessionId } = this.#question
    try {
      await underFence(this.#context, this.#claim, tx => closeAllowedElsewhere(tx, this.#question, clock.now()))
      wakeups.publish(topics.session(organizationId, sessionId))
    } catch (err) {
      log.warn({ err, sessionId }, 'an approval whose host was allowed elsewhere stays open')
    }
  }
}

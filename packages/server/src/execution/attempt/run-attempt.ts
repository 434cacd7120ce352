import type { Redactor } from '../../kit/redactor.ts'
import type { InteractionRow } from '../../sessions/interactions/interaction.ts'
import type { LeaseRow } from '../../sessions/leases/lease-sql.ts'
import { PreviewWriter } from '../../sessions/previews/preview-writer.ts'
import type { Outcome } from '../../sessions/runs/run.ts'
import type { TurnRow } from '../../sessions/turns/turn.ts'
import type { RunBudgets } from '../../settings/run-budgets.ts'
import type { Order } from '../agent/acp-orders.ts'
import type { AgentConversation } from '../agent/agent-conversation.ts'
import { isRefused, nextAttemptStep } from '../agent/attempt-step.ts'
import type { LastAnswer } from '../agent/transcript.ts'
import type { RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { executionLost } from '../claim/finish.ts'
import { clearHandovers, findLastAnswer } from '../claim/progress-sql.ts'
import { underFence } from '../claim/under-fence.ts'
import type { SupervisorConnection } from '../supervisor/connection.ts'
import type { JournalRecord } from '../supervisor/stream.ts'
import { AgentOrders, type OrderParts } from './agent-orders.ts'
import { cancelled, decideEnd, outOfEvents, recordEnd, startFailed } from './attempt-end.ts'
import { AttemptSpans } from './attempt-spans.ts'
import { beginRun } from './begin-run.ts'
import { EventBudget } from './event-budget.ts'
import { FurtherPrompt } from './further-prompt.ts'
import { openConversation } from './open-conversation.ts'
import { ReadingKeeper } from './reading-keeper.ts'
import { RunIsOver } from './record-reading.ts'
import { RequestedOutput } from './requested-output.ts'

/** The state that an attempt continues from. */
export interface RunAttemptParts extends OrderParts {
  /** The agent's requests that nobody has answered yet. */
  readonly waiting: readonly InteractionRow[]
  /** Turns that are to join the agent's work and that it may have been given. */
  readonly steering: readonly TurnRow[]
  /** Masks every secret that the sandbox was given. */
  readonly redactor: Redactor
}

/**
 * One attempt of a Run on an attached supervisor, continuing wherever a predecessor left it.
 *
 * `nextAttemptStep` derives each step from the journal, and every order carries a key that the supervisor takes once. So a
 * worker that takes over does not need its predecessor's progress: it reads, commits and gives the orders that follow.
 * The supervisor drops those already given.
 *
 * Order of writes: read; commit events, questions, offset and facts in one transaction behind the fence; acknowledge;
 * order.
 */
export class RunAttempt {
  readonly #context: ExecutionContext
  readonly #claim: RunClaim
  readonly #lease: LeaseRow
  readonly #replayFrom: number
  readonly #connection: SupervisorConnection
  readonly #budgets: RunBudgets
  readonly #batches: AsyncGenerator<readonly JournalRecord[], never>
  readonly #conversation: AgentConversation
  readonly #keeper: ReadingKeeper
  readonly #orders: AgentOrders
  readonly #budget: EventBudget
  readonly #previews: PreviewWriter
  readonly #output: RequestedOutput | null
  readonly #further: FurtherPrompt
  readonly #spans: AttemptSpans
  /** The agent already had the prompt when this worker attached. */
  readonly #resumed: boolean
  #begun: boolean
  #parking = false
  #promptGiven = false
  /** People may have answered since the last look. */
  #answersDue = true
  /** People may have sent messages for the agent at work since the last look. */
  #steeringDue = true
  #cancelling = false
  #settled = false
  /** This worker has read the backlog and given the orders that follow from it. */
  #takenOver = false
  #caughtUp = false
  #last: Promise<void> = Promise.resolve()
  /** The outcome that this worker has decided on; it takes effect when the agent has stopped. */
  #forced: Outcome | null = null
  #stopKey: string | null = null
  #stopped = false

  constructor(context: ExecutionContext, parts: RunAttemptParts) {
    const { claim, connection, lease, turn } = parts
    const of = { runId: claim.run.id, attempt: claim.run.attempts, turnSequence: turn.sequence }
    this.#context = context
    this.#claim = claim
    this.#spans = new AttemptSpans(claim, parts.runtime.id)
    this.#lease = lease
    this.#output = RequestedOutput.of(context, claim, of, parts)
    this.#replayFrom = lease.replay_from
    this.#connection = connection
    this.#budgets = parts.budgets
    this.#batches = connection.batches()
    this.#conversation = openConversation(of, parts, { endsMessages: this.#output !== null })
    this.#keeper = new ReadingKeeper(context, claim, lease, connection, this.#conversation.facts)
    const { runEvents: events, runEventBytes: bytes } = context.limits
    this.#budget = new EventBudget({ events, bytes }, claim.run)
    this.#orders = new AgentOrders(context, of, parts)
    this.#previews = new PreviewWriter(context, claim, claim.runId, () => this.#conversation.preview)
    this.#resumed = this.#conversation.prompted
    this.#further = new FurtherPrompt(this.#orders, this.#output, this.#resumed, () => this.#lastAnswer())
    this.#begun = claim.run.started_at !== null
  }

  /** True once the agent has the prompt: the start-up deadline no longer applies. */
  get prompted(): boolean {
    return this.#conversation.prompted
  }

  /** True if this worker left the agent so that the Run can be parked. */
  get parking(): boolean {
    return this.#parking
  }

  /**
   * Works until the Run has ended or the attempt is lost, and records which.
   *
   * @throws ClaimLost, or the connection's error
   */
  async run(): Promise<void> {
    // Orders wait until the backlog is read: facts that the journal has overtaken must not decide them.
    if (this.#connection.size <= this.#replayFrom) {
      this.#caughtUp = true
      await this.#exclusive(() => this.#goOn())
    }
    await using _ = this.#previews
    try {
      while (!this.#settled) {
        const { value: batch } = await this.#batches.next()
        await this.#exclusive(() => this.#read(batch))
      }
    } catch (error) {
      if (!this.#settled) throw error
    }
  }

  /** Passes a cancellation to the agent, which may then end on its own until the grace is over. */
  cancel(): Promise<void> {
    return this.#exclusive(async () => {
      this.#letGo()
      if (this.#caughtUp) await this.#goOn()
    })
  }

  /** Gives the agent the answers and messages of people, and shows who began to watch what it is saying. */
  answer(): Promise<void> {
    this.#previews.watched()
    return this.#exclusive(async () => {
      this.#answersDue = true
      this.#steeringDue = true
      if (!this.#caughtUp || this.#settled) return
      await this.#giveAnswers()
      await this.#giveSteering()
    })
  }

  /**
   * Leaves the agent as it is so that the Run can be parked.
   *
   * @returns false if it cannot be parked now
   */
  async park(): Promise<boolean> {
    await this.#exclusive(async () => {
      if (this.#settled || this.#forced !== null || this.#cancelling || !this.#caughtUp) return
      this.#parking = true
      this.#settled = true
      await this.#connection[Symbol.asyncDispose]()
    })
    return this.#parking
  }

  /**
   * Ends a Run whose time is over. An agent at work is first asked to stop, so that the sealed conversation is whole.
   * Whatever it answers, the Run ends with `outcome`.
   */
  expire(outcome: Outcome): Promise<void> {
    return this.#exclusive(async () => {
      const { facts, prompted } = this.#conversation
      if (this.#settled || !prompted || facts.sessionId === null) return this.#stop(outcome, 'deadline')
      this.#forced ??= outcome
      this.#conversation.cancelling = true
      await this.#orders.cancelPrompt(facts.sessionId)
    })
  }

  /**
   * Ends the Run with this outcome. If the agent is ready and has no prompt, it ends at once. Otherwise it ends when
   * the agent is gone, which gets a second to stop.
   */
  stop(outcome: Outcome, why: string): Promise<void> {
    return this.#exclusive(() => this.#stop(outcome, why))
  }

  /**
   * Runs `work` after all earlier work: a reading is recorded before a deadline or cancellation is handled, and vice
   * versa.
   */
  #exclusive(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    return done
  }

  async #read(batch: readonly JournalRecord[]): Promise<void> {
    if (this.#settled) return
    let position = 0
    for (const record of batch) {
      this.#conversation.apply(record)
      position = record.end
      const told = position <= this.#lease.journal_offset ? null : this.#output?.before(record)
      if (told) this.#conversation.tell(told)
      if (record.type === 'k' && record.key === this.#stopKey) this.#stopped = true
      if (this.#conversation.end !== null && !isRefused(this.#conversation) && (await this.#furtherPrompt()) === null)
        break
    }
    const further = this.#isOver() ? await this.#furtherPrompt() : null
    if (this.#isOver() && further === null) return this.#settle()
    this.#caughtUp ||= position >= this.#connection.size
    if (further !== null) {
      // Nothing is committed until the journal has the order, so a worker that takes over meanwhile reads the same
      // answer.
      if (this.#caughtUp) await this.#orders.give(further)
      return
    }
    await this.#commit()
    if (this.#caughtUp) {
      this.#previews.changed()
      await this.#goOn()
    }
  }

  /** Returns the prompt that follows the agent's answer, or null if the Run is to end. */
  async #furtherPrompt(): Promise<Order | null> {
    const { end, facts } = this.#conversation
    if (end?.kind !== 'answered' || facts.state !== 'ready' || this.#cancelling || this.#forced !== null) return null
    return this.#further.after(end, facts)
  }

  async #commit(): Promise<void> {
    const reading = this.#budget.admit(this.#conversation.take())
    try {
      const spent = await this.#keeper.keep(reading)
      if (spent !== null) this.#budget.spend(spent)
    } catch (error) {
      if (!(error instanceof RunIsOver)) throw error
      // Nothing more belongs to the Run. This worker only reads the agent's output until the agent has stopped.
      this.#letGo()
    }
    if (reading.asked.some(({ ask }) => ask.kind === 'exit_plan_mode')) this.#further.notePlan()
    // A remembered approval rule answers a request in the same commit.
    if (reading.asked.length > 0) this.#answersDue = true
  }

  /**
   * Gives the orders that are due. After the first time, the Run's handovers count from zero again: the whole journal
   * has been read, so input that kills workers would have struck by now.
   */
  async #goOn(): Promise<void> {
    if (this.#budget.isSpent && this.#forced === null && !this.#cancelling) {
      // People are not asked anything any more either.
      this.#conversation.cancelling = true
      await this.#stop(outOfEvents, 'events')
    }
    for (const reply of this.#conversation.takeReplies()) await this.#orders.reply(reply)
    await this.#giveAnswers()
    await this.#step()
    await this.#giveSteering()
    if (this.#takenOver || this.#settled) return
    this.#takenOver = true
    if (this.#claim.run.handovers === 0) return
    await underFence(this.#context, this.#claim, tx => clearHandovers(tx, this.#claim))
  }

  async #giveAnswers(): Promise<void> {
    if (!this.#answersDue || !this.#conversation.waits) return
    this.#answersDue = false
    await this.#orders.giveAnswers()
  }

  async #giveSteering(): Promise<void> {
    const { end, facts, prompted } = this.#conversation
    if (!this.#steeringDue || !prompted || end !== null || this.#cancelling || this.#forced !== null) return
    this.#steeringDue = false
    await this.#orders.giveSteering(facts, turnId => this.#conversation.expectSteered(turnId))
  }

  async #step(): Promise<void> {
    const { end, facts, prompted } = this.#conversation
    const orders = this.#orders
    const step = nextAttemptStep({
      facts,
      prompted,
      end,
      forced: this.#forced !== null,
      cancelling: this.#cancelling,
      promptGiven: this.#promptGiven,
      otherModel: orders.otherModel,
    })
    switch (step) {
      case 'wait':
        return
      case 'give up':
        return this.#stop((await this.#decided())?.outcome ?? executionLost, 'refused')
      case 'cancel the prompt':
        return orders.cancelPrompt(facts.sessionId ?? '')
      case 'cancel the run':
        return this.#stop(cancelled, 'cancel')
      case 'end the earlier prompt':
        return orders.stop(`stop/${facts.activePrompt}`)
      case 'start the agent':
        return orders.start(facts.generation + 1)
      case 'initialize':
        return orders.initialize(facts.generation)
      case 'open a session':
        return orders.openSession(facts)
      case 'await the repetition':
        return orders.awaitRepetition(facts.generation)
      case 'restart for the model':
        return orders.stop(`stop/model/${facts.generation}`)
      case 'prompt':
        if (!this.#begun) await beginRun(this.#context, this.#claim, this.#lease)
        this.#begun = true
        this.#promptGiven = true
        this.#spans.prompted()
        return orders.prompt(facts)
    }
  }

  async #stop(outcome: Outcome, why: string): Promise<void> {
    this.#forced ??= outcome
    if (this.#settled) return
    if (this.#isIdle()) return this.#settle()
    // The key includes the token: this worker may have read the record of a predecessor's stop, and no second one would
    // follow.
    const { runId, run, token } = this.#claim
    this.#stopKey = `stop/${runId}/${run.attempts}/${why}/${token}`
    await this.#orders.stop(this.#stopKey)
  }

  /** From now on the agent gets nothing of the Run but its end. */
  #letGo(): void {
    this.#cancelling = true
    this.#conversation.cancelling = true
    this.#answersDue = true
  }

  #isIdle(): boolean {
    const { facts, prompted } = this.#conversation
    return facts.state === 'ready' && !prompted && !this.#promptGiven
  }

  /** True if the agent can do nothing more for this Run. */
  #isOver(): boolean {
    const { end, facts } = this.#conversation
    const ended = end !== null && !isRefused(this.#conversation)
    return ended || (this.#stopped && (facts.state === 'exited' || facts.state === 'none'))
  }

  /** Records the end of the attempt and everything read before it, in one transaction. */
  async #settle(): Promise<void> {
    // Comes first: an open message may be the answer that becomes the outcome's summary.
    this.#conversation.close()
    let decided = this.#forced === null ? await this.#decided() : { outcome: this.#forced }
    if (decided !== null && this.#output !== null) {
      const settled = await this.#output.settle(decided, () => this.#lastAnswer())
      for (const draft of settled.drafts) this.#conversation.tell(draft)
      decided = settled.decided
    }
    const reading = this.#budget.admit(this.#conversation.take())
    const end = this.#conversation.end
    const lost = end?.kind === 'exited' && !end.started && !this.#begun ? startFailed : executionLost
    const leaseId = this.#lease.id
    await recordEnd(this.#context, this.#claim, { leaseId, reading, decided, lost, begun: this.#begun })
    this.#spans.ended(decided?.outcome.status ?? 'lost', this.#resumed)
    this.#settled = true
    // The loop may still be waiting for the journal of a Run that is over.
    await this.#connection[Symbol.asyncDispose]()
  }

  #decided(): ReturnType<typeof decideEnd> {
    const { answeredAt, end } = this.#conversation
    const asked = { cancelling: this.#cancelling, budgets: this.#budgets }
    return decideEnd(this.#context, this.#claim, end, asked, { at: answeredAt, last: () => this.#lastAnswer() })
  }

  async #lastAnswer(): Promise<LastAnswer | null> {
    const { lastAnswer } = this.#conversation
    if (lastAnswer !== undefined) return lastAnswer
    return this.#resumed ? findLastAnswer(this.#context.db, this.#claim, this.#claim.runId) : null
  }
}

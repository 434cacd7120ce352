import type { InteractionRow } from '@berth/core/sessions/interactions/interaction.ts'
import { PreviewWriter } from '@berth/core/sessions/previews/preview-writer.ts'
import type { Outcome } from '@berth/core/sessions/runs/run.ts'
import type { TurnRow } from '@berth/core/sessions/turns/turn.ts'
import type { Redactor } from '@berth/platform/kit/redactor.ts'
import type { Order } from '../agent/acp-orders.ts'
import type { AgentConversation } from '../agent/agent-conversation.ts'
import type { AgentState } from '../agent/reported-state.ts'
import type { LastAnswer } from '../agent/transcript.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { executionLost } from '../claim/finish.ts'
import { clearHandovers, findLastAnswer } from '../claim/progress-sql.ts'
import { underFence } from '../claim/under-fence.ts'
import type { JournalRecord } from '../supervisor/stream.ts'
import { StepReporter } from '../workspace/report-if-long.ts'
import { AgentOrders, type OrderParts } from './agent-orders.ts'
import { cancelled, decideEnd, outOfEvents, recordEnd, startFailed, stateOf } from './attempt-end.ts'
import { AttemptSpans } from './attempt-spans.ts'
import {
  type AttemptState,
  advance,
  decidedOutcome,
  isOver,
  isRefused,
  type Move,
  nextAttemptStep,
} from './attempt-state.ts'
import { beginRun, openConversation } from './begin-attempt.ts'
import { EventBudget } from './event-budget.ts'
import { FurtherPrompt, RequestedOutput } from './further-prompt.ts'
import { ReadingKeeper, RunIsOver } from './reading-keeper.ts'

/** The state that an attempt continues from. */
export interface RunAttemptParts extends OrderParts {
  /** The agent's requests that nobody has answered yet. */
  readonly waiting: readonly InteractionRow[]
  /** Turns that are to join the agent's work and that it may have been given. */
  readonly steering: readonly TurnRow[]
  /** The agent's state as the Session has it. */
  readonly reported: AgentState
  /** Masks every secret that the sandbox was given. */
  readonly redactor: Redactor
  /** Called when the agent gets a prompt. */
  readonly onPrompt: () => void
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
  readonly #parts: RunAttemptParts
  readonly #conversation: AgentConversation
  readonly #keeper: ReadingKeeper
  readonly #orders: AgentOrders
  readonly #budget: EventBudget
  readonly #previews: PreviewWriter
  readonly #output: RequestedOutput | null
  readonly #further: FurtherPrompt
  readonly #spans: AttemptSpans
  /** The start of the agent, until it gets its prompt. */
  #start: StepReporter | undefined
  /** The agent already had the prompt when this worker attached. */
  readonly #resumed: boolean
  #state: AttemptState
  /** People may have given some of these since the last look. */
  readonly #due = new Set<'answers' | 'messages'>(['answers', 'messages'])
  /** The agent has answered, and the prompt that may follow waits for people. */
  #isHeld = false
  #last: Promise<void> = Promise.resolve()

  constructor(context: ExecutionContext, parts: RunAttemptParts) {
    const { claim, connection, lease, turn } = parts
    const of = { runId: claim.run.id, attempt: claim.run.attempts, turnSequence: turn.sequence }
    this.#context = context
    this.#parts = parts
    const prompt = claim.run.started_at === null ? 'early' : 'begun'
    this.#state = { reached: 'backlog', course: { kind: 'on' }, prompt }
    this.#spans = new AttemptSpans(claim, parts.runtime.id)
    this.#output = RequestedOutput.of(context, claim, of, parts)
    this.#conversation = openConversation(of, parts, {
      endsMessages: this.#output !== null,
      asksPeople: () => this.#isOn,
    })
    this.#keeper = new ReadingKeeper(context, claim, lease, connection, this.#conversation.facts)
    const { runEvents: events, runEventBytes: bytes } = context.limits
    this.#budget = new EventBudget({ events, bytes }, claim.run)
    this.#orders = new AgentOrders(context, of, parts)
    this.#previews = new PreviewWriter(context, claim, claim.runId, () => this.#conversation.preview)
    this.#resumed = this.#conversation.prompted
    this.#further = new FurtherPrompt(
      this.#orders,
      this.#output,
      this.#resumed,
      () => this.#lastAnswer(),
      () => this.#conversation.answeredAt,
    )
  }

  /** True once the agent has the prompt: the start-up deadline no longer applies. */
  get prompted(): boolean {
    return this.#conversation.prompted
  }

  /** True if a command of the agent runs in the background. */
  get hasCommands(): boolean {
    return this.#conversation.hasCommands
  }

  /** True if this worker left the agent so that the Run can be parked. */
  get parking(): boolean {
    return this.#state.reached === 'left'
  }

  /**
   * Works until the Run has ended or the attempt is lost, and records which.
   *
   * @throws ClaimLost, or the connection's error
   */
  async run(): Promise<void> {
    // Orders wait until the backlog is read: facts that the journal has overtaken must not decide them.
    const { connection, lease } = this.#parts
    if (connection.size <= lease.replay_from) {
      this.#move({ kind: 'catch up' })
      await this.#exclusive(() => this.#goOn())
    }
    await using _ = this.#previews
    await using stack = new AsyncDisposableStack()
    stack.defer(() => this.#start?.leave())
    const batches = connection.batches()
    try {
      while (!isOver(this.#state)) {
        const { value: batch } = await batches.next()
        await this.#exclusive(() => this.#read(batch))
      }
    } catch (error) {
      if (!isOver(this.#state)) throw error
    }
  }

  /** Passes a cancellation to the agent, which may then end on its own until the grace is over. */
  cancel(): Promise<void> {
    return this.#exclusive(async () => {
      this.#letGo()
      if (!this.#givesOrders) return
      if (this.#isHeld) await this.#settle()
      else await this.#goOn()
    })
  }

  /** Gives the agent the answers and messages of people, and shows who began to watch what it is saying. */
  answer(): Promise<void> {
    this.#previews.watched()
    return this.#exclusive(async () => {
      this.#due.add('answers').add('messages')
      if (!this.#givesOrders) return
      if (this.#isHeld) return this.#leaveHold()
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
      if (!this.#givesOrders || !this.#isOn) return
      this.#move({ kind: 'leave' })
      await this.#parts.connection[Symbol.asyncDispose]()
    })
    return this.parking
  }

  /**
   * Ends a Run whose time is over. An agent at work is first asked to stop, so that the sealed conversation is whole.
   * Whatever it answers, the Run ends with `outcome`.
   */
  expire(outcome: Outcome): Promise<void> {
    return this.#exclusive(async () => {
      const { facts, prompted } = this.#conversation
      if (isOver(this.#state) || !prompted || facts.sessionId === null || this.#isHeld)
        return this.#stop(outcome, 'deadline')
      this.#move({ kind: 'decide', outcome })
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

  #move(move: Move): void {
    this.#state = advance(this.#state, move)
  }

  /** The Run goes on: neither its end nor its outcome has been decided elsewhere than by the agent. */
  get #isOn(): boolean {
    return this.#state.course.kind === 'on'
  }

  get #givesOrders(): boolean {
    return this.#state.reached === 'caught up' || this.#state.reached === 'taken over'
  }

  async #read(batch: readonly JournalRecord[]): Promise<void> {
    if (isOver(this.#state)) return
    const { connection, lease } = this.#parts
    let position = 0
    for (const record of batch) {
      this.#conversation.apply(record)
      position = record.end
      const output = position <= lease.journal_offset ? null : this.#output?.before(record)
      if (output) this.#conversation.addDraft(output)
      if (record.type === 'k') this.#move({ kind: 'read', key: record.key })
      if (this.#conversation.end !== null && !isRefused(this.#conversation) && (await this.#furtherPrompt()) === null)
        break
    }
    const isDone = this.#isDone()
    const further = isDone ? await this.#furtherPrompt() : null
    if (isDone && further === null) return this.#settle()
    this.#isHeld = further === 'held'
    if (position >= connection.size) this.#move({ kind: 'catch up' })
    if (further !== null) {
      // Nothing is committed until the journal has the order, so a worker that takes over meanwhile reads the same
      // answer.
      if (this.#givesOrders && further !== 'held') await this.#orders.give(further)
      return
    }
    await this.#commit()
    if (this.#givesOrders) {
      this.#previews.changed()
      await this.#goOn()
    }
  }

  /** Gives the prompt that waited for people, or ends the Run if none follows any more. */
  async #leaveHold(): Promise<void> {
    const further = await this.#furtherPrompt()
    this.#isHeld = further === 'held'
    if (further === null) await this.#settle()
    else if (further !== 'held') await this.#orders.give(further)
  }

  /** Returns the prompt that follows the agent's answer, or null if the Run is to end; `held`: people decide. */
  async #furtherPrompt(): Promise<Order | 'held' | null> {
    const { end, facts } = this.#conversation
    if (end?.kind !== 'answered' || facts.state !== 'ready' || !this.#isOn) return null
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
      // But its state does, which the end of the attempt records.
      for (const draft of stateOf(reading.drafts)) this.#conversation.addDraft(draft)
    }
    if (reading.requests.some(({ ask }) => ask.kind === 'exit_plan_mode')) this.#further.notePlan()
    // A remembered approval rule answers a request in the same commit.
    if (reading.requests.length > 0) this.#due.add('answers')
  }

  /**
   * Gives the orders that are due. After the first time, the Run's handovers count from zero again: the whole journal
   * has been read, so input that kills workers would have struck by now.
   */
  async #goOn(): Promise<void> {
    if (this.#budget.isSpent && this.#isOn) await this.#stop(outOfEvents, 'events')
    for (const reply of this.#conversation.takeReplies()) await this.#orders.reply(reply)
    await this.#giveAnswers()
    await this.#step()
    await this.#giveSteering()
    if (this.#state.reached !== 'caught up') return
    this.#move({ kind: 'take over' })
    const { claim } = this.#parts
    if (claim.run.handovers > 0) await underFence(this.#context, claim, tx => clearHandovers(tx, claim))
  }

  async #giveAnswers(): Promise<void> {
    if (!this.#conversation.waits || !this.#due.delete('answers')) return
    await this.#orders.giveAnswers()
  }

  async #giveSteering(): Promise<void> {
    const { end, facts, prompted } = this.#conversation
    if (!prompted || end !== null || !this.#isOn || !this.#due.delete('messages')) return
    await this.#orders.giveSteering(facts, turnId => this.#conversation.expectSteered(turnId))
  }

  async #step(): Promise<void> {
    const { end, facts, prompted } = this.#conversation
    const orders = this.#orders
    switch (nextAttemptStep({ ...this.#state, facts, prompted, end, otherModel: orders.otherModel })) {
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
        this.#start ??= new StepReporter(this.#context, this.#parts.claim, 'start_agent')
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
        await this.#start?.end('succeeded')
        if (this.#state.prompt === 'early') await beginRun(this.#context, this.#parts.claim, this.#parts.lease)
        this.#move({ kind: 'prompt' })
        this.#spans.prompted()
        this.#parts.onPrompt()
        return orders.prompt(facts)
    }
  }

  async #stop(outcome: Outcome, why: string): Promise<void> {
    this.#move({ kind: 'decide', outcome })
    if (isOver(this.#state)) return
    if (this.#isIdle()) return this.#settle()
    // The key includes the token: this worker may have read the record of a predecessor's stop, and no second one would
    // follow.
    const { runId, run, token } = this.#parts.claim
    const key = `stop/${runId}/${run.attempts}/${why}/${token}`
    this.#move({ kind: 'stop', key })
    await this.#orders.stop(key)
  }

  /** From now on the agent gets nothing of the Run but its end. */
  #letGo(): void {
    this.#move({ kind: 'let go' })
    this.#due.add('answers')
  }

  #isIdle(): boolean {
    const { facts, prompted } = this.#conversation
    return this.#isHeld || (facts.state === 'ready' && !prompted && this.#state.prompt !== 'given')
  }

  /** True if the agent can do nothing more for this Run. */
  #isDone(): boolean {
    const { end, facts } = this.#conversation
    const ended = end !== null && !isRefused(this.#conversation)
    return ended || (this.#state.course.kind === 'stopped' && (facts.state === 'exited' || facts.state === 'none'))
  }

  /** Records the end of the attempt and everything read before it, in one transaction. */
  async #settle(): Promise<void> {
    // Comes first: an open message may be the answer that becomes the outcome's summary.
    this.#conversation.close()
    const outcome = decidedOutcome(this.#state)
    let decided = outcome === null ? await this.#decided() : { outcome }
    if (decided !== null && this.#output !== null) {
      const settled = await this.#output.settle(decided, () => this.#lastAnswer())
      for (const draft of settled.drafts) this.#conversation.addDraft(draft)
      decided = settled.decided
    }
    // What it was refused belongs before its end.
    await this.#context.network.flush(this.#parts.lease.id)
    const reading = this.#budget.admit(this.#conversation.take())
    const end = this.#conversation.end
    const { claim, connection, lease } = this.#parts
    const begun = this.#state.prompt !== 'early'
    if (!begun) await this.#start?.end('failed')
    const lost = end?.kind === 'exited' && !end.started && !begun ? startFailed : executionLost
    await recordEnd(this.#context, claim, { leaseId: lease.id, reading, decided, lost, begun })
    this.#spans.ended(decided?.outcome.status ?? 'lost', begun)
    this.#move({ kind: 'end' })
    // The loop may still be waiting for the journal of a Run that is over.
    await connection[Symbol.asyncDispose]()
  }

  #decided(): ReturnType<typeof decideEnd> {
    const { answeredAt, end } = this.#conversation
    const { budgets, claim } = this.#parts
    const wanted = { cancelling: this.#state.course.kind === 'let go', budgets }
    return decideEnd(this.#context, claim, end, wanted, { at: answeredAt, last: () => this.#lastAnswer() })
  }

  async #lastAnswer(): Promise<LastAnswer | null> {
    const { lastAnswer } = this.#conversation
    if (lastAnswer !== undefined) return lastAnswer
    const { claim } = this.#parts
    return this.#resumed ? findLastAnswer(this.#context.db, claim, claim.runId) : null
  }
}

import { appendEvents } from '../events/append.ts'
import type { InteractionRow } from '../interactions/interaction.ts'
import { listUndelivered } from '../interactions/interaction-sql.ts'
import { extendLease } from '../leases/extend-lease.ts'
import type { LeaseRow } from '../leases/lease-sql.ts'
import type { Outcome } from '../runs/run.ts'
import type { RunBudgets } from '../runs/run-budgets.ts'
import { hasEarlierWork, markRunning } from '../runs/run-sql.ts'
import type { RuntimeEntry } from '../runtimes/catalog.ts'
import { topics } from '../storage/wakeups.ts'
import type { TurnRow } from '../turns/turn.ts'
import { findTurn } from '../turns/turn-sql.ts'
import { agentRequestOf, answerTo } from './acp-answers.ts'
import { cancelPrompt, initialize, type Order, openSession, type PromptOf, prompt } from './acp-orders.ts'
import { agentEnvironment } from './agent-environment.ts'
import { answerBlocks, answersMeta } from './answer-blocks.ts'
import { cancelled, decideEnd, recordEnd } from './attempt-end.ts'
import { type AgentFacts, Conversation } from './conversation.ts'
import type { ExecutionContext } from './execution-context.ts'
import { clearHandovers, findLastAnswer, type RunClaim, saveAgentModel } from './execution-sql.ts'
import { executionLost } from './finish.ts'
import { placeInputs } from './place-inputs.ts'
import { discardPresented, presentBeforeWaiting } from './present-files.ts'
import { promptBlocks } from './prompt-blocks.ts'
import { keepRecap } from './recap.ts'
import { RunIsOver, recordReading } from './record-reading.ts'
import { modelOf } from './run-model.ts'
import type { SupervisorConnection } from './supervisor-connection.ts'
import type { JournalRecord } from './supervisor-stream.ts'
import type { LastAnswer } from './transcript.ts'
import { inOneFlight, underFence } from './under-fence.ts'

/** Text chunks wait this long in the journal only, before an offset is committed without an event. */
const COMMIT_BYTES = 256 * 1024

/** Between the request to end and the kill of an agent that is to be stopped. */
export const STOP_GRACE_MS = 1_000

/**
 * One attempt of a Run on an attached supervisor, from whatever point a predecessor left it at.
 *
 * What to do next is a function of what the journal says (`#orders`), and every order carries a key that the supervisor
 * takes once. So a worker that takes over does not need to know how far the last one came: it reads, commits, and gives
 * the orders that follow; those already given are dropped.
 *
 * Order of writes: read, commit (events, questions, offset and facts in one transaction behind the fence), acknowledge,
 * order.
 */
export class Attempt {
  readonly #context: ExecutionContext
  readonly #claim: RunClaim
  readonly #turn: TurnRow
  readonly #runtime: RuntimeEntry
  readonly #lease: LeaseRow
  readonly #cwd: string
  readonly #connection: SupervisorConnection
  readonly #budgets: RunBudgets
  readonly #batches: AsyncGenerator<readonly JournalRecord[], never>
  readonly #conversation: Conversation
  readonly #of: PromptOf
  readonly #ordered = new Set<string>()
  /** What came before, for an agent that cannot load it; told with its first prompt. */
  #recap: string | null
  /** The model that the agent's process was started for. */
  #startedFor: string | null
  #committed: number
  #savedFacts: AgentFacts
  #begun: boolean
  /** The agent had the prompt already when this worker came. */
  readonly #resumed: boolean
  readonly #unheard: readonly InteractionRow[]
  #parking = false
  #promptGiven = false
  /** People may have answered since answers were last looked for. */
  #answersDue = true
  #cancelling = false
  #settled = false
  /** Read the backlog, and gave the orders that follow from it. */
  #takenOver = false
  #caughtUp = false
  #last: Promise<void> = Promise.resolve()
  /** Outcome that this worker has decided on; it takes effect when the agent has stopped. */
  #forced: Outcome | null = null
  #stopKey: string | null = null
  #stopped = false

  constructor(
    context: ExecutionContext,
    parts: {
      claim: RunClaim
      turn: TurnRow
      runtime: RuntimeEntry
      lease: LeaseRow
      /** Where the agent works. */
      cwd: string
      connection: SupervisorConnection
      budgets: RunBudgets
      /** What the agent has asked and not been answered. */
      waiting: readonly InteractionRow[]
      /** What people said to the Run while it was parked. */
      unheard: readonly InteractionRow[]
    },
  ) {
    this.#context = context
    this.#claim = parts.claim
    this.#turn = parts.turn
    this.#runtime = parts.runtime
    this.#lease = parts.lease
    this.#cwd = parts.cwd
    this.#connection = parts.connection
    this.#budgets = parts.budgets
    this.#batches = parts.connection.batches()
    this.#of = {
      runId: parts.claim.run.id,
      attempt: parts.claim.run.attempts,
      turnSequence: parts.turn.sequence,
    }
    this.#committed = parts.lease.journal_offset
    this.#recap = parts.lease.recap
    this.#startedFor = parts.lease.agent_model
    this.#begun = parts.claim.run.started_at !== null
    this.#conversation = new Conversation(
      this.#of,
      {
        generation: parts.lease.agent_generation,
        state: parts.lease.agent_state,
        loadsSessions: parts.lease.agent_loads_sessions,
        sessionId: parts.lease.agent_session_id,
        activePrompt: parts.lease.active_prompt,
      },
      parts.lease.journal_offset,
      new Map(parts.waiting.map(row => [row.journal_offset, agentRequestOf(row).id])),
    )
    this.#savedFacts = this.#conversation.facts
    this.#resumed = this.#conversation.prompted
    this.#unheard = parts.unheard
  }

  /** Whether the agent has been given the prompt: the start-up deadline no longer applies. */
  get prompted(): boolean {
    return this.#conversation.prompted
  }

  /**
   * Works until the Run has ended or the attempt is lost, and records which.
   * @throws ClaimLost, or what the connection failed with
   */
  async run(): Promise<void> {
    // Orders wait until the backlog is read: they must not be decided on facts that the journal has overtaken.
    if (this.#connection.size <= this.#lease.replay_from) {
      this.#caughtUp = true
      await this.#exclusive(() => this.#goOn())
    }
    try {
      while (!this.#settled) {
        const { value: batch } = await this.#batches.next()
        await this.#exclusive(() => this.#read(batch))
      }
    } catch (error) {
      if (!this.#settled) throw error
    }
  }

  /** Passes a cancellation on to the agent; the rest is the agent's, until the grace is over. */
  cancel(): Promise<void> {
    return this.#exclusive(async () => {
      this.#letGo()
      if (this.#caughtUp) await this.#goOn()
    })
  }

  /** Gives the agent what people have answered. */
  answer(): Promise<void> {
    return this.#exclusive(async () => {
      this.#answersDue = true
      if (this.#caughtUp && !this.#settled) await this.#giveAnswers()
    })
  }

  /** Leaves the agent where it is, for the Run to be parked. @returns whether that can be done */
  async park(): Promise<boolean> {
    await this.#exclusive(async () => {
      if (this.#settled || this.#forced !== null || this.#cancelling || !this.#caughtUp) return
      this.#parking = true
      this.#settled = true
      await this.#connection[Symbol.asyncDispose]()
    })
    return this.#parking
  }

  /** Whether it was left for the Run to be parked. */
  get parking(): boolean {
    return this.#parking
  }

  /**
   * The Run's time is over: an agent that is at work is asked to stop, so that its conversation is whole when it is
   * sealed; whatever it answers, the Run has crashed by its deadline (interface 6.4).
   */
  expire(outcome: Outcome): Promise<void> {
    return this.#exclusive(async () => {
      const { facts, prompted } = this.#conversation
      if (this.#settled || !prompted || facts.sessionId === null) return this.#stop(outcome, 'deadline')
      this.#forced ??= outcome
      this.#conversation.cancelling = true
      await this.#give(cancelPrompt(this.#of, facts.sessionId))
    })
  }

  /**
   * Ends the Run with this outcome once the agent has nothing of it: at once while it is ready and has no prompt, else
   * when it is gone, for which it gets a second.
   */
  stop(outcome: Outcome, why: string): Promise<void> {
    return this.#exclusive(() => this.#stop(outcome, why))
  }

  async #read(batch: readonly JournalRecord[]): Promise<void> {
    if (this.#settled) return
    let position = 0
    for (const record of batch) {
      this.#conversation.apply(record)
      position = record.end
      if (record.type === 'k' && record.key === this.#stopKey) this.#stopped = true
      if (this.#conversation.end !== null && !this.#isRefused()) break
    }
    if (this.#isOver()) {
      await this.#settle()
      return
    }
    await this.#commit()
    this.#caughtUp ||= position >= this.#connection.size
    if (this.#caughtUp) await this.#goOn()
  }

  /**
   * Gives the orders that are due. Once that has worked the claim counts as worked on: what makes a Run poison would
   * have struck again by now, since all that is in the journal is behind us.
   */
  async #goOn(): Promise<void> {
    await this.#order()
    if (this.#takenOver || this.#settled) return
    this.#takenOver = true
    if (this.#claim.run.handovers === 0) return
    await underFence(this.#context, this.#claim, tx => clearHandovers(tx, this.#claim))
  }

  async #stop(outcome: Outcome, why: string): Promise<void> {
    this.#forced ??= outcome
    if (this.#settled) return
    if (this.#isIdle()) {
      await this.#settle()
      return
    }
    // With the token: a record of the same stop by a predecessor may have been read already, and none would follow.
    this.#stopKey = `stop/${this.#of.runId}/${this.#of.attempt}/${why}/${this.#claim.token}`
    await this.#connection.stop(this.#stopKey, STOP_GRACE_MS)
  }

  /** One thing at a time: what was read is recorded before a deadline or a cancellation is looked at, and vice versa. */
  #exclusive(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    return done
  }

  /** The orders that follow from what the journal says. */
  async #order(): Promise<void> {
    for (const reply of this.#conversation.takeReplies()) await this.#give(reply)
    await this.#giveAnswers()
    const { facts, prompted } = this.#conversation
    if (this.#forced !== null) return
    if (this.#isRefused()) {
      await this.#stop((await this.#decided())?.outcome ?? executionLost, 'refused')
      return
    }
    if (prompted) {
      if (this.#cancelling && facts.sessionId !== null) await this.#give(cancelPrompt(this.#of, facts.sessionId))
      return
    }
    if (this.#cancelling && !this.#promptGiven) {
      await this.#stop(cancelled, 'cancel')
      return
    }
    if (facts.activePrompt !== null) {
      // A Run that was given up left its agent at work. That agent ends before another Run begins.
      await this.#connection.stop(`stop/${facts.activePrompt}`, STOP_GRACE_MS)
      return
    }
    switch (facts.state) {
      case 'none':
      case 'exited':
        await this.#startAgent(facts.generation + 1)
        break
      case 'started':
        await this.#give(initialize(facts.generation))
        break
      case 'initialized':
        await this.#openSession()
        break
      case 'ready':
        if (this.#modelOfAgent() !== this.#startedFor) {
          // It was told of another model when it started. Its successor loads the conversation.
          await this.#connection.stop(`stop/model/${facts.generation}`, STOP_GRACE_MS)
          return
        }
        await this.#begin()
        for (const row of this.#unheard)
          if (row.response_turn_id !== null) await this.#placeFilesOf(row.response_turn_id)
        this.#promptGiven = true
        await this.#give(
          prompt(this.#of, facts.generation, {
            sessionId: facts.sessionId ?? '',
            blocks: this.#promptBlocks(),
            meta: this.#promptMeta(),
          }),
        )
        break
    }
  }

  /** The Turn; where the Run was parked, what people have said since. */
  #promptBlocks(): object[] {
    if (this.#unheard.length === 0) return promptBlocks(this.#turn, this.#recap)
    return [...(this.#recap === null ? [] : [{ type: 'text', text: this.#recap }]), ...answerBlocks(this.#unheard)]
  }

  #promptMeta(): object {
    const model = modelOf(this.#context, this.#claim.run)
    return {
      ...(model !== null && { model }),
      ...(Object.keys(this.#budgets).length > 0 && { budgets: this.#budgets }),
      ...(this.#unheard.length > 0 && { answers: answersMeta(this.#unheard) }),
    }
  }

  /**
   * A process that follows another one loads the conversation that earlier Runs left; one that cannot is told it by the
   * log. Without earlier work there is nothing to load, whatever an attempt that was lost has said.
   */
  async #openSession(): Promise<void> {
    const { generation, loadsSessions, sessionId } = this.#conversation.facts
    const earlier = this.#unheard.length > 0 || (await hasEarlierWork(this.#context.db, this.#claim, this.#of.runId))
    if (earlier && !loadsSessions && sessionId !== null) {
      this.#recap = await keepRecap(this.#context, this.#claim, this.#lease.id)
      await this.#give(openSession(generation, this.#cwd, null))
      return
    }
    await this.#give(openSession(generation, this.#cwd, earlier ? sessionId : null))
  }

  /** What people have said to the agent's requests, whichever worker was there when they said it. */
  async #giveAnswers(): Promise<void> {
    if (!this.#answersDue || !this.#conversation.waits) return
    this.#answersDue = false
    for (const row of await listUndelivered(this.#context.db, this.#lease.id)) {
      if (row.status === 'open') continue
      const reply = answerTo(row)
      if (this.#ordered.has(reply.key)) continue
      if (row.response_turn_id !== null) await this.#placeFilesOf(row.response_turn_id)
      await this.#give(reply)
    }
  }

  async #placeFilesOf(turnId: string): Promise<void> {
    const turn = await findTurn(this.#context.db, this.#claim, turnId)
    if (turn !== null) await placeInputs(this.#context, this.#lease.id, turn)
  }

  /** The model that its variables tell the agent of; null where they tell of none. */
  #modelOfAgent(): string | null {
    return this.#runtime.modelEnv === undefined ? null : modelOf(this.#context, this.#claim.run)
  }

  async #startAgent(generation: number): Promise<void> {
    const key = `start/${generation}`
    if (this.#ordered.has(key)) return
    this.#ordered.add(key)
    const { command, env, modelEnv, reach } = this.#runtime
    const model = this.#modelOfAgent()
    const told = model === null ? {} : modelEnv?.(this.#context.models.facts(model))
    if (model !== this.#startedFor) {
      await underFence(this.#context, this.#claim, tx => saveAgentModel(tx, this.#lease.id, model))
      this.#startedFor = model
    }
    await this.#connection.start({ key, command, env: { ...agentEnvironment(reach), ...told, ...env }, cwd: this.#cwd })
  }

  async #give(order: Order): Promise<void> {
    if (this.#ordered.has(order.key)) return
    this.#ordered.add(order.key)
    await this.#connection.send(order.key, order.line)
  }

  /** The Run begins on its sandbox: `running`, and one `started` event for each attempt. */
  async #begin(): Promise<void> {
    if (this.#begun) return
    this.#begun = true
    const { id, attempts } = this.#claim.run
    const data = { status: 'running', attempt: attempts }
    await Promise.all([
      discardPresented(this.#context, this.#claim, this.#lease.id),
      inOneFlight(this.#context, this.#claim, (tx, now) => [
        markRunning(tx, this.#claim, id, now),
        extendLease(tx, this.#claim, now),
        appendEvents(tx, this.#claim, [{ type: 'svc.run.started', runId: id, data }], now),
      ]),
    ])
    this.#announce()
  }

  #isIdle(): boolean {
    const { facts, prompted } = this.#conversation
    return facts.state === 'ready' && !prompted && !this.#promptGiven
  }

  /** Whether the agent can do nothing more for this Run. */
  #isOver(): boolean {
    const { end, facts } = this.#conversation
    const ended = end !== null && !this.#isRefused()
    return ended || (this.#stopped && (facts.state === 'exited' || facts.state === 'none'))
  }

  /**
   * Whether the agent lives and will not be set up. Orders are given once to a process, so the next Run could ask
   * nothing more of this one: it ends with the Run that it refused.
   */
  #isRefused(): boolean {
    const { end, facts } = this.#conversation
    return end?.kind === 'unstartable' && (facts.state === 'started' || facts.state === 'initialized')
  }

  /** Records the end of the attempt with all that was read before it, in one transaction. */
  async #settle(): Promise<void> {
    // First, because what is open may be the answer that the outcome tells of.
    this.#conversation.close()
    const reading = this.#conversation.take()
    const decided = this.#forced === null ? await this.#decided() : { outcome: this.#forced }
    await recordEnd(this.#context, this.#claim, { leaseId: this.#lease.id, reading, decided, begun: this.#begun })
    this.#settled = true
    // The loop may be waiting for the journal on behalf of a Run that is over.
    await this.#connection[Symbol.asyncDispose]()
  }

  #decided(): ReturnType<typeof decideEnd> {
    const asked = { cancelling: this.#cancelling, budgets: this.#budgets }
    return decideEnd(this.#context, this.#claim, this.#conversation.end, asked, () => this.#lastAnswer())
  }

  async #lastAnswer(): Promise<LastAnswer | null> {
    const { lastAnswer } = this.#conversation
    if (lastAnswer !== undefined) return lastAnswer
    return this.#resumed ? findLastAnswer(this.#context.db, this.#claim, this.#of.runId) : null
  }

  /** Commits what was read, where it says something or has grown long. */
  async #commit(): Promise<void> {
    const reading = this.#conversation.take()
    const { drafts, asked, withdrawn, settled, facts, offset, replayFrom } = reading
    const says = [drafts, asked, withdrawn, settled].some(part => part.length > 0) || facts !== this.#savedFacts
    if (!says && offset - this.#committed < COMMIT_BYTES) return
    if (asked.some(({ ask, declined }) => ask.kind !== 'approval' && declined !== true)) {
      await presentBeforeWaiting(this.#context, this.#claim, this.#lease.id)
    }
    try {
      await recordReading(this.#context, this.#claim, this.#lease.id, reading)
    } catch (error) {
      if (!(error instanceof RunIsOver)) throw error
      // Nothing more belongs to the Run. What its agent still says is read until it has stopped.
      this.#letGo()
      return
    }
    // What is remembered has been answered with the commit.
    if (asked.length > 0) this.#answersDue = true
    this.#committed = offset
    this.#savedFacts = facts
    this.#connection.ack(offset, replayFrom)
    if (drafts.length + asked.length + withdrawn.length > 0) this.#announce()
  }

  #letGo(): void {
    this.#cancelling = true
    this.#conversation.cancelling = true
    this.#answersDue = true
  }

  #announce(): void {
    this.#context.wakeups.publish(topics.session(this.#claim.organizationId, this.#claim.sessionId))
  }
}

import type { RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import { type OutputIssue, rejected, type Verdict } from '@berth/core/sessions/outputs/judge-output.ts'
import type { Outcome } from '@berth/core/sessions/runs/run.ts'
import type { TurnRow } from '@berth/core/sessions/turns/turn.ts'
import { asksForOutput, type Order, type PromptOf } from '../agent/acp-orders.ts'
import type { AgentEnd, AgentFacts } from '../agent/agent-handshake.ts'
import { outputCorrection } from '../agent/prompt-blocks.ts'
import type { LastAnswer } from '../agent/transcript.ts'
import type { RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { hasRejectedOutput } from '../claim/progress-sql.ts'
import type { JournalRecord } from '../supervisor/stream.ts'
import type { AgentOrders } from './agent-orders.ts'
import type { Decided } from './attempt-end.ts'

type Answered = Extract<AgentEnd, { readonly kind: 'answered' }>

/**
 * Decides whether an agent's answer ends the Run or a further prompt of the same Run follows: people's feedback on its plan,
 * the correction of a result that breaks its schema, or the word to go on after a budget was reached. While people decide on
 * a budget, the Run is held.
 */
export class FurtherPrompt {
  readonly #orders: AgentOrders
  readonly #output: RequestedOutput | null
  readonly #lastAnswer: () => Promise<LastAnswer | null>
  readonly #answeredAt: () => Date | null
  /** The agent may have asked to leave plan mode. */
  #planned: boolean
  /** The decision on the latest answer. */
  #decided: { readonly end: Answered; readonly order: Order | null } | null = null

  /** @param planned whether the agent may have asked to leave plan mode already */
  constructor(
    orders: AgentOrders,
    output: RequestedOutput | null,
    planned: boolean,
    lastAnswer: () => Promise<LastAnswer | null>,
    answeredAt: () => Date | null,
  ) {
    this.#orders = orders
    this.#output = output
    this.#planned = planned
    this.#lastAnswer = lastAnswer
    this.#answeredAt = answeredAt
  }

  /** Notes that the agent asked to leave plan mode: people may refuse with feedback. */
  notePlan(): void {
    this.#planned = true
  }

  /** Returns the prompt that follows the answer, or null. An answer is decided on once, unless it is held. */
  async after(end: Answered, facts: AgentFacts): Promise<Order | 'held' | null> {
    if (this.#decided?.end === end) return this.#decided.order
    const order = await this.#decide(end.outcome, facts)
    if (order !== 'held') this.#decided = { end, order }
    return order
  }

  async #decide(outcome: Outcome, facts: AgentFacts): Promise<Order | 'held' | null> {
    const budget = await this.#orders.afterBudget(facts, this.#answeredAt())
    if (budget !== null) return budget
    const planned = this.#planned && (outcome.stopReason === 'completed' || outcome.stopReason === 'aborted')
    const feedback = planned ? await this.#orders.feedback(facts) : null
    if (feedback !== null || this.#output === null) return feedback
    const text = await this.#output.askAgain(outcome, this.#lastAnswer)
    return text === null ? null : this.#orders.askAgain(facts, text)
  }
}

/** Code of a Run whose agent gave no such output. */
export const OUTPUT_INVALID = 'output_invalid'

/**
 * The JSON value that a Turn asks for, in one attempt at its Run.
 *
 * An agent whose first answer does not satisfy the schema is told so in a further prompt, once. That the answer was
 * rejected is committed with the journal's record of that prompt, so the log has it exactly if the agent was told. Until
 * then nothing after the answer is committed: a worker that takes over reads the answer again, judges it alike and gives
 * the same order, which the supervisor takes once.
 */
export class RequestedOutput {
  readonly #context: Pick<ExecutionContext, 'db' | 'outputs'>
  readonly #claim: RunClaim
  readonly #of: PromptOf
  readonly #schema: string
  readonly #asksAgain: boolean
  #judged: { readonly answer: LastAnswer | null; readonly verdict: Verdict } | null = null
  /** Told with the prompt that follows. */
  #rejection: EventDraft | null = null
  /** This worker has read the prompt that asks once more. */
  #requested = false

  /** @returns null if the Turn asks for no output */
  static of(
    context: Pick<ExecutionContext, 'db' | 'outputs'>,
    claim: RunClaim,
    of: PromptOf,
    { turn, runtime }: { readonly turn: TurnRow; readonly runtime: RuntimeEntry },
  ): RequestedOutput | null {
    const { output_schema: schema } = turn
    return schema === null ? null : new RequestedOutput(context, claim, of, schema, runtime.isScript !== true)
  }

  private constructor(
    context: Pick<ExecutionContext, 'db' | 'outputs'>,
    claim: RunClaim,
    of: PromptOf,
    schema: string,
    asksAgain: boolean,
  ) {
    this.#context = context
    this.#claim = claim
    this.#of = of
    this.#schema = schema
    this.#asksAgain = asksAgain
  }

  /** Returns what the agent is to be told after this answer; null if the Run is to end. */
  async askAgain(outcome: Outcome, answer: () => Promise<LastAnswer | null>): Promise<string | null> {
    const isWhole = outcome.status === 'completed' && outcome.stopReason === 'completed'
    if (!isWhole || !this.#asksAgain || (await this.#isSecond())) return null
    const verdict = await this.#judge(outcome.summary ?? (await answer()))
    if (verdict.kind === 'accepted') return null
    this.#rejection = this.#rejected(1, verdict.issues, true)
    return outputCorrection(this.#schema, verdict.issues)
  }

  /** Returns the Event that belongs before a record of the journal which this worker is the first to read. */
  before(record: JournalRecord): EventDraft | null {
    if (record.type !== 'i' || !asksForOutput(this.#of, record.key)) return null
    this.#requested = true
    const rejection = this.#rejection
    this.#rejection = null
    return rejection
  }

  /** Returns the end of the Run with its output, or as failed, and the Events that go before it. */
  async settle(
    decided: Decided,
    answer: () => Promise<LastAnswer | null>,
  ): Promise<{ readonly decided: Decided; readonly drafts: readonly EventDraft[] }> {
    const { outcome } = decided
    if (outcome.status !== 'completed') return { decided, drafts: [] }
    const verdict = await this.#judge(outcome.summary ?? (await answer()))
    if (verdict.kind === 'accepted') {
      return { decided: { ...decided, outcome: { ...outcome, output: verdict.json } }, drafts: [] }
    }
    const stopReason = outcome.stopReason === 'completed' ? 'error' : (outcome.stopReason ?? 'error')
    const failed: Outcome = { ...outcome, status: 'failed', stopReason, errorCode: OUTPUT_INVALID }
    const place = (await this.#isSecond()) ? 2 : 1
    return { decided: { ...decided, outcome: failed }, drafts: [this.#rejected(place, verdict.issues, false)] }
  }

  async #isSecond(): Promise<boolean> {
    return this.#requested || (await hasRejectedOutput(this.#context.db, this.#claim, this.#claim.runId))
  }

  async #judge(answer: LastAnswer | null): Promise<Verdict> {
    if (this.#judged === null || this.#judged.answer !== answer) {
      this.#judged = { answer, verdict: await this.#verdictOf(answer) }
    }
    return this.#judged.verdict
  }

  async #verdictOf(answer: LastAnswer | null): Promise<Verdict> {
    if (answer !== null && typeof answer !== 'string') {
      return rejected(`is not there: the last message has ${answer.sizeBytes} bytes, more than is read`)
    }
    return this.#context.outputs.judge(this.#claim.organizationId, this.#schema, answer ?? '')
  }

  #rejected(answer: 1 | 2, issues: readonly OutputIssue[], retried: boolean): EventDraft {
    return {
      type: 'svc.output.rejected',
      runId: this.#claim.runId,
      visibility: 'transcript',
      data: { answer, issues, retried },
    }
  }
}

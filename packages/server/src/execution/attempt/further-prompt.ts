import type { Outcome } from '../../sessions/runs/run.ts'
import type { Order } from '../agent/acp-orders.ts'
import type { AgentEnd, AgentFacts } from '../agent/agent-conversation.ts'
import type { LastAnswer } from '../agent/transcript.ts'
import type { AgentOrders } from './agent-orders.ts'
import type { RequestedOutput } from './requested-output.ts'

type Answered = Extract<AgentEnd, { readonly kind: 'answered' }>

/**
 * Decides whether an agent's answer ends the Run or a further prompt of the same Run follows: people's feedback on its plan,
 * or the correction of a result that breaks its schema.
 */
export class FurtherPrompt {
  readonly #orders: AgentOrders
  readonly #output: RequestedOutput | null
  readonly #lastAnswer: () => Promise<LastAnswer | null>
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
  ) {
    this.#orders = orders
    this.#output = output
    this.#planned = planned
    this.#lastAnswer = lastAnswer
  }

  /** Notes that the agent asked to leave plan mode: people may refuse with feedback. */
  notePlan(): void {
    this.#planned = true
  }

  /** Returns the prompt that follows the answer, or null. An answer is decided on once. */
  async after(end: Answered, facts: AgentFacts): Promise<Order | null> {
    if (this.#decided?.end !== end) this.#decided = { end, order: await this.#decide(end.outcome, facts) }
    return this.#decided.order
  }

  async #decide(outcome: Outcome, facts: AgentFacts): Promise<Order | null> {
    const planned = this.#planned && (outcome.stopReason === 'completed' || outcome.stopReason === 'aborted')
    const feedback = planned ? await this.#orders.feedback(facts) : null
    if (feedback !== null || this.#output === null) return feedback
    const text = await this.#output.askAgain(outcome, this.#lastAnswer)
    return text === null ? null : this.#orders.askAgain(facts, text)
  }
}

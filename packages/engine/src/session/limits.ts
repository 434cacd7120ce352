import type { AssistantMessage, ToolResultMessage } from '@earendil-works/pi-ai'

/** What a prompt may use; all of it is told by the platform with the prompt. */
export interface Budgets {
  /** Requests to the model that are answered. */
  readonly turns?: number
  /** Output tokens in all. */
  readonly responseTokens?: number
  readonly seconds?: number
}

/** Why the engine stopped, of interface 6.4's reasons those that limits lead to. */
export type LimitReason =
  | 'max_turns'
  | 'turn_budget'
  | 'time_budget'
  | 'max_response'
  | 'repeated_tool_failure'
  | 'aborted'

/** The same call, failing the same way, this many times in a row is a loop (interface 6.4). */
const REPEATED_FAILURES = 5

/**
 * What a prompt has used, its sub-agents' part included, and why it is over, once it is. The first reason stands.
 *
 * A limit ends the work between turns, so that the conversation stays whole; only time and people end it at any moment.
 */
export class Limits {
  readonly #budgets: Budgets
  readonly #maxTurns: number
  readonly #whole: Limits | null
  #turns = 0
  #outputTokens = 0
  #lastFailure = ''
  #failures = 0
  #reason: LimitReason | null = null

  /** @param whole those of the prompt, where these are of a part of it: what the part uses, the whole uses */
  constructor(budgets: Budgets, maxTurns: number, whole: Limits | null = null) {
    this.#budgets = budgets
    this.#maxTurns = maxTurns
    this.#whole = whole
  }

  get turns(): number {
    return this.#turns
  }

  get reason(): LimitReason | null {
    return this.#reason ?? this.#whole?.reason ?? null
  }

  get outputTokensLeft(): number {
    const { responseTokens = Number.POSITIVE_INFINITY } = this.#budgets
    const left = Math.max(0, responseTokens - this.#outputTokens)
    return Math.min(left, this.#whole?.outputTokensLeft ?? left)
  }

  stop(reason: LimitReason): void {
    this.#reason ??= reason
  }

  /** Counts an answer of the model. */
  count(message: AssistantMessage): void {
    this.#turns += 1
    this.#outputTokens += message.usage.output
    this.#whole?.count(message)
  }

  /**
   * Takes a turn that is over, with what its calls came to, in order.
   * @returns whether the work ends here
   */
  settle(message: AssistantMessage, results: readonly ToolResultMessage[]): boolean {
    for (const result of results) this.#watch(message, result)
    if (this.#failures >= REPEATED_FAILURES) this.stop('repeated_tool_failure')
    // A turn that calls no tool is the last by itself.
    if (results.length > 0) {
      if (this.outputTokensLeft === 0) this.stop('max_response')
      if (this.#turns >= (this.#budgets.turns ?? Number.POSITIVE_INFINITY)) this.stop('turn_budget')
      if (this.#turns >= this.#maxTurns) this.stop('max_turns')
      const whole = this.#whole
      if (whole !== null && whole.turns >= (whole.#budgets.turns ?? Number.POSITIVE_INFINITY)) whole.stop('turn_budget')
    }
    return this.reason !== null
  }

  #watch(message: AssistantMessage, result: ToolResultMessage): void {
    const call = message.content.find(block => block.type === 'toolCall' && block.id === result.toolCallId)
    const failure = result.isError ? JSON.stringify([call, result.content], withoutIds) : ''
    this.#failures = failure !== '' && failure === this.#lastFailure ? this.#failures + 1 : failure === '' ? 0 : 1
    this.#lastFailure = failure
  }
}

const withoutIds = (key: string, value: unknown) => (key === 'id' || key === 'thoughtSignature' ? undefined : value)

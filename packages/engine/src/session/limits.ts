import type { AssistantMessage, ToolResultMessage } from '@earendil-works/pi-ai'

/** Budgets of a prompt; the platform sends them with it. */
export interface Budgets {
  /** Model requests that get an answer. */
  readonly turns?: number
  /** Output tokens of all answers together. */
  readonly responseTokens?: number
  readonly seconds?: number
}

/** Stop reasons that limits and cancellations lead to. */
export type LimitReason =
  | 'max_turns'
  | 'turn_budget'
  | 'time_budget'
  | 'max_response'
  | 'repeated_tool_failure'
  | 'aborted'

/** The same call failing in the same way this many times in a row counts as a loop. */
const REPEATED_FAILURES = 5

/**
 * Counts a prompt's use, its sub-agents' included, and holds the reason once a limit has stopped it. The first reason
 * stands.
 *
 * Limits end the work between turns, so the conversation stays whole; only the time budget and people end it at once.
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

  /**
   * @param maxTurns the bound of turns if the budgets have none
   * @param whole the prompt's limits, if these are a sub-agent's; its use counts towards both
   */
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

  /** Counts an answer of the model, in the whole as well. */
  count(message: AssistantMessage): void {
    this.#turns += 1
    this.#outputTokens += message.usage.output
    this.#whole?.count(message)
  }

  /**
   * Checks the limits after a turn.
   * @param results the results of the turn's calls, in order
   * @returns true if the work ends here
   */
  settle(message: AssistantMessage, results: readonly ToolResultMessage[]): boolean {
    for (const result of results) this.#watch(message, result)
    if (this.#failures >= REPEATED_FAILURES) this.stop('repeated_tool_failure')
    // A turn without tool calls is the last one anyway.
    if (results.length > 0) {
      if (this.outputTokensLeft === 0) this.stop('max_response')
      const { turns } = this.#budgets
      if (this.#turns >= (turns ?? this.#maxTurns)) this.stop(turns === undefined ? 'max_turns' : 'turn_budget')
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

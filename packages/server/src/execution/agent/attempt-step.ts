import type { AgentEnd, AgentFacts } from './agent-conversation.ts'

/** The state that decides an attempt's next step. */
export interface Standing {
  readonly facts: AgentFacts
  /** The agent has this attempt's prompt. */
  readonly prompted: boolean
  readonly end: AgentEnd | null
  /** This worker has decided the Run's outcome, and waits for the agent to stop. */
  readonly forced: boolean
  readonly cancelling: boolean
  /** The prompt is on its way to the agent; the journal does not hold it yet. */
  readonly promptGiven: boolean
  /** The agent's process was started for another model than the Run's. */
  readonly otherModel: boolean
}

/** The next thing that an attempt does with its agent. */
export type Step =
  | 'wait'
  | 'give up'
  | 'cancel the prompt'
  | 'cancel the run'
  | 'end the earlier prompt'
  | 'start the agent'
  | 'initialize'
  | 'open a session'
  | 'await the repetition'
  | 'restart for the model'
  | 'prompt'

/**
 * Returns the next step towards a prompted agent, unless the Run is to end. It follows from the journal alone, so a
 * worker that takes over takes the same step as its predecessor would have.
 */
export function nextAttemptStep(standing: Standing): Step {
  const { facts, prompted, cancelling } = standing
  if (standing.forced) return 'wait'
  if (isRefused(standing)) return 'give up'
  if (prompted) return cancelling && facts.sessionId !== null ? 'cancel the prompt' : 'wait'
  if (cancelling && !standing.promptGiven) return 'cancel the run'
  // An abandoned Run left its agent at work. That agent ends before another Run begins.
  if (facts.activePrompt !== null) return 'end the earlier prompt'
  switch (facts.state) {
    case 'none':
    case 'exited':
      return 'start the agent'
    case 'started':
      return 'initialize'
    case 'initialized':
      return 'open a session'
    case 'loaded':
      return 'await the repetition'
    case 'ready':
      return standing.otherModel ? 'restart for the model' : 'prompt'
  }
}

/**
 * Returns true if the agent lives and cannot be set up. A process gets each order only once, so the next Run could ask
 * it nothing more: it ends with the Run that it refused.
 */
export function isRefused({ end, facts }: Pick<Standing, 'end' | 'facts'>): boolean {
  return end?.kind === 'unstartable' && (facts.state === 'started' || facts.state === 'initialized')
}

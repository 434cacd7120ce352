import type { AgentEnd, AgentFacts } from './conversation.ts'

/** What is known of an attempt when it is asked what to do next. */
export interface Standing {
  readonly facts: AgentFacts
  /** The agent has this attempt's prompt. */
  readonly prompted: boolean
  readonly end: AgentEnd | null
  /** This worker has decided how the Run ends, and waits for the agent to stop. */
  readonly forced: boolean
  readonly cancelling: boolean
  /** The prompt is under way to the agent; the journal does not hold it yet. */
  readonly promptGiven: boolean
  /** The agent's process was started for another model than the Run's. */
  readonly otherModel: boolean
}

/** What an attempt does next with its agent. */
export type Step =
  | 'wait'
  | 'give up'
  | 'cancel the prompt'
  | 'cancel the run'
  | 'end the earlier prompt'
  | 'start the agent'
  | 'initialize'
  | 'open a session'
  | 'restart for the model'
  | 'prompt'

/**
 * What follows from the journal, so that a worker that takes over comes to the same as its predecessor would have: a step
 * towards a prompted agent, from wherever it stands, unless the Run is to end.
 */
export function nextStep(standing: Standing): Step {
  const { facts, prompted, cancelling } = standing
  if (standing.forced) return 'wait'
  if (isRefused(standing)) return 'give up'
  if (prompted) return cancelling && facts.sessionId !== null ? 'cancel the prompt' : 'wait'
  if (cancelling && !standing.promptGiven) return 'cancel the run'
  // A Run that was given up left its agent at work. That agent ends before another Run begins.
  if (facts.activePrompt !== null) return 'end the earlier prompt'
  switch (facts.state) {
    case 'none':
    case 'exited':
      return 'start the agent'
    case 'started':
      return 'initialize'
    case 'initialized':
      return 'open a session'
    case 'ready':
      return standing.otherModel ? 'restart for the model' : 'prompt'
  }
}

/**
 * Whether the agent lives and will not be set up. Orders are given once to a process, so the next Run could ask nothing
 * more of this one: it ends with the Run that it refused.
 */
export function isRefused({ end, facts }: Pick<Standing, 'end' | 'facts'>): boolean {
  return end?.kind === 'unstartable' && (facts.state === 'started' || facts.state === 'initialized')
}

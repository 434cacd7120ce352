import type { Outcome } from '@berth/core/sessions/runs/run.ts'
import type { AgentEnd, AgentFacts } from '../agent/agent-handshake.ts'

/**
 * What a worker has done with an attempt so far, besides the journal's own facts. `advance` alone changes it. Nothing goes back: a
 * move that comes too late changes nothing.
 *
 * | part | in order | who moves it |
 * | --- | --- | --- |
 * | `reached` | `backlog`: records of earlier workers are unread, and their facts must not decide orders | |
 * | | `caught up`: it gives orders | the reader, at the journal's end |
 * | | `taken over`: it has given those that followed from the backlog | the first time that it gave orders |
 * | | `ended`: the end is recorded | the reader, or whoever stops an idle agent |
 * | | `left`: instead, the agent stays as it is so that the Run can be parked | the watch |
 * | `course` | `on` | |
 * | | `let go`: the agent may still end by itself; the Run is cancelled, or another command has ended it | a cancellation, or the commit that finds the end |
 * | | `decided`: the Run ends with this outcome, whatever the agent answers to the end of its prompt | a deadline |
 * | | `stopping`: the supervisor was told to stop the agent | whoever stops it |
 * | | `stopped`: the journal has that order | the reader |
 * | `prompt` | `early`: the Run has not begun | |
 * | | `begun`: it has, with an earlier worker | |
 * | | `given`: it has, and the prompt is on its way, though the journal may not have it | the prompt's order |
 */
export interface AttemptState {
  readonly reached: 'backlog' | 'caught up' | 'taken over' | 'ended' | 'left'
  readonly course:
    | { readonly kind: 'on' | 'let go' }
    | { readonly kind: 'decided'; readonly outcome: Outcome }
    | { readonly kind: 'stopping' | 'stopped'; readonly outcome: Outcome; readonly key: string }
  readonly prompt: 'early' | 'begun' | 'given'
}

/** Something that moves the state of an attempt. */
export type Move =
  | { readonly kind: 'catch up' | 'take over' | 'end' | 'leave' | 'let go' | 'prompt' }
  /** The first outcome that is decided stays. */
  | { readonly kind: 'decide'; readonly outcome: Outcome }
  /** The supervisor gets this order, with the decided outcome. */
  | { readonly kind: 'stop'; readonly key: string }
  /** The journal has an order with this key. */
  | { readonly kind: 'read'; readonly key: string }

/** Returns the state after a move. */
export function advance(state: AttemptState, move: Move): AttemptState {
  const { reached, course } = state
  switch (move.kind) {
    case 'catch up':
      return reached === 'backlog' ? { ...state, reached: 'caught up' } : state
    case 'take over':
      return reached === 'caught up' ? { ...state, reached: 'taken over' } : state
    case 'end':
      return isOver(state) ? state : { ...state, reached: 'ended' }
    case 'leave':
      return isOver(state) ? state : { ...state, reached: 'left' }
    case 'prompt':
      return { ...state, prompt: 'given' }
    case 'let go':
      return course.kind === 'on' ? { ...state, course: { kind: 'let go' } } : state
    case 'decide':
      return 'outcome' in course ? state : { ...state, course: { kind: 'decided', outcome: move.outcome } }
    case 'stop':
      return 'outcome' in course && course.kind !== 'stopped'
        ? { ...state, course: { kind: 'stopping', outcome: course.outcome, key: move.key } }
        : state
    case 'read':
      return course.kind === 'stopping' && course.key === move.key
        ? { ...state, course: { ...course, kind: 'stopped' } }
        : state
  }
}

/** True if this worker has nothing more to do with the attempt. */
export const isOver = ({ reached }: AttemptState): boolean => reached === 'ended' || reached === 'left'

/** Returns the outcome that was decided; null while the agent's own end decides. */
export const decidedOutcome = ({ course }: Pick<AttemptState, 'course'>): Outcome | null =>
  'outcome' in course ? course.outcome : null

/** The state that decides an attempt's next step. */
export interface StepInput extends Pick<AttemptState, 'course' | 'prompt'> {
  readonly facts: AgentFacts
  /** The agent has this attempt's prompt. */
  readonly prompted: boolean
  readonly end: AgentEnd | null
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
export function nextAttemptStep(snapshot: StepInput): Step {
  const { facts, prompted } = snapshot
  if (decidedOutcome(snapshot) !== null) return 'wait'
  if (isRefused(snapshot)) return 'give up'
  const cancelling = snapshot.course.kind === 'let go'
  if (prompted) return cancelling && facts.sessionId !== null ? 'cancel the prompt' : 'wait'
  if (cancelling && snapshot.prompt !== 'given') return 'cancel the run'
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
      return snapshot.otherModel ? 'restart for the model' : 'prompt'
  }
}

/**
 * Returns true if the agent lives and cannot be set up. A process gets each order only once, so the next Run could ask
 * it nothing more: it ends with the Run that it refused.
 */
export function isRefused({ end, facts }: Pick<StepInput, 'end' | 'facts'>): boolean {
  return end?.kind === 'unstartable' && (facts.state === 'started' || facts.state === 'initialized')
}

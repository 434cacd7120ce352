import type { Event, EventDataByType } from '../generated/types.ts'

/** A step of an agent's to-do list. */
export type PlanEntry = EventDataByType['svc.plan.updated']['entries'][number]

/** A command that an agent has in the background, or had. */
export type BackgroundCommand = EventDataByType['svc.background.updated']['commands'][number]

/** What an agent shows of its work besides what it says and calls. */
export interface AgentState {
  /** Its to-do list; null if no Event has told of one. */
  readonly plan: readonly PlanEntry[] | null
  /** Its commands in the background; null if no Event has told of them. */
  readonly background: readonly BackgroundCommand[] | null
}

/** The Events that set the to-do list, and those that set the commands in the background. */
export const agentStateTypes = {
  plan: ['svc.plan.updated', 'svc.conversation.cleared'],
  background: ['svc.background.updated', 'svc.workspace.expired'],
} as const satisfies Record<keyof AgentState, readonly string[]>

/** Returns the to-do list that an Event sets; nothing, if it is the end of the conversation. */
export const planIn = ({ entries }: Event['data']): AgentState['plan'] => (Array.isArray(entries) ? entries : [])

/** Returns the commands in the background that an Event sets; none, if it is the end of their sandbox. */
export const backgroundIn = ({ commands }: Event['data']): AgentState['background'] =>
  Array.isArray(commands) ? commands : []

/** Returns the state after one more Event. */
export function extendAgentState(state: AgentState, { type, data }: Event): AgentState {
  const sets = (types: readonly string[]) => types.includes(type)
  if (sets(agentStateTypes.plan)) return { ...state, plan: planIn(data) }
  return sets(agentStateTypes.background) ? { ...state, background: backgroundIn(data) } : state
}

/** Returns the state of a command in words: `running`, `exit code 1`. */
export const backgroundLabel = ({ status, exitCode }: Pick<BackgroundCommand, 'status' | 'exitCode'>): string =>
  status === 'exited' ? (exitCode === undefined ? 'ended by a signal' : `exit code ${exitCode}`) : status

/** Returns how many steps are done, and the one that the agent works on, or else the next. */
export function planProgress(entries: readonly PlanEntry[]): { done: number; current: PlanEntry | undefined } {
  const done = entries.filter(({ status }) => status === 'completed').length
  const current = ['in_progress', 'pending'].map(wanted => entries.find(({ status }) => status === wanted))
  return { done, current: current[0] ?? current[1] }
}

/** Returns a plan in one line: `2 of 5 done: Run the tests`. */
export function planLabel(entries: readonly PlanEntry[]): string {
  const { done, current } = planProgress(entries)
  return `${done} of ${entries.length} done${current === undefined ? '' : `: ${current.content}`}`
}

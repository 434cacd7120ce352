import { isDeepStrictEqual } from 'node:util'
import type { Background, Plan } from '@berth/contract'
import { backgroundAfter, planAfter } from '@berth/core/sessions/log/agent-state-sql.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'

/** An agent's to-do list, and the commands in the background of its sandbox. */
export interface AgentState {
  readonly plan: Plan | null
  readonly background: Background
}

/**
 * The agent's state as the log will have it. Agents tell it again and again, and each Event counts on the Run's budget.
 * So what repeats it is left out, and of those that follow one another in a reading only the last stays.
 */
export class ReportedState {
  #reported: AgentState

  /** @param told as it was at the committed offset */
  constructor(reported: AgentState = { plan: null, background: [] }) {
    this.#reported = reported
  }

  /** Adds an Event to those of a reading, unless it repeats the state. */
  add(drafts: EventDraft[], draft: EventDraft): void {
    const { plan = this.#reported.plan, background = this.#reported.background } = stateAfter(draft)
    const reported = { plan, background }
    if (isState(draft) && isDeepStrictEqual(reported, this.#reported)) return
    this.#reported = reported
    const following = drafts.findLastIndex(other => !isState(other)) + 1
    const before = isState(draft) ? drafts.findIndex((other, at) => at >= following && other.type === draft.type) : -1
    // In its place: requests to people know theirs by the number of drafts before them.
    if (before === -1) drafts.push(draft)
    else drafts[before] = draft
  }

  /** True if a command runs in the background. */
  get hasCommands(): boolean {
    return this.#reported.background.some(({ status }) => status === 'running')
  }

  /** Returns the Event that the agent's process is gone, and its commands with it; null if none was running. */
  stopped(runId: string): EventDraft | null {
    if (!this.hasCommands) return null
    const commands = this.#reported.background.map(each =>
      each.status === 'running' ? { ...each, status: 'stopped' } : each,
    )
    return { type: 'svc.background.updated', runId, visibility: 'transcript', data: { commands } }
  }
}

function stateAfter(draft: EventDraft): { readonly plan?: Plan | null; readonly background?: Background } {
  const [plan, background] = [planAfter([draft]), backgroundAfter([draft])?.commands]
  return { ...(plan !== undefined && { plan }), ...(background !== undefined && { background }) }
}

const isState = ({ type }: EventDraft): boolean => type === 'svc.plan.updated' || type === 'svc.background.updated'

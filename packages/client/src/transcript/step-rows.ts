import type { Event } from '../generated/types.ts'
import { textOf } from './data.ts'
import { baseOf, type Lane, type Row, type Step, type StepsRow, type ToolStep } from './rows.ts'

/** The rows of a transcript that hold steps. They are changed in place, while a batch of Events is folded. */
export class StepRows {
  readonly #rows: Row[]
  /** Arrays that no transcript has yet: a batch copies the steps of a row once, however many it adds. */
  readonly #own = new Set<readonly Step[]>()

  constructor(rows: Row[]) {
    this.#rows = rows
  }

  /** Adds a step to the group of its sub-agent, or to that of the agent itself at the end; or begins a group. */
  add(event: Event, step: Step, lane?: string): void {
    const runId = event.subject.runId ?? null
    const at = lane === undefined ? this.#rows.length - 1 : this.#laneAt(lane)
    const row = this.#rows[at]
    if (row?.kind === 'steps' && row.runId === runId && row.lane?.id === lane) {
      this.#stepsOf(row, at).push(step)
    } else {
      const begun = lane === undefined ? {} : { lane: laneOf(event) }
      this.#rows.push({ ...baseOf(event), kind: 'steps', steps: [step], ...begun })
    }
  }

  /** Returns the steps of a row as an array that may be changed. */
  #stepsOf(row: StepsRow, at: number): Step[] {
    if (this.#own.has(row.steps)) return row.steps as Step[]
    const steps = [...row.steps]
    this.#own.add(steps)
    this.#rows[at] = { ...row, steps }
    return steps
  }

  /** Returns the place of a sub-agent's group, behind which anything may lie; -1 if there is none. */
  #laneAt(id: string): number {
    return this.#rows.findLastIndex(row => row.kind === 'steps' && row.lane?.id === id)
  }

  /** Returns false if no group is the sub-agent's. */
  endLane(event: Event): boolean {
    const status = textOf(event, 'status')
    const at = this.#laneAt(textOf(event, 'delegationId'))
    const row = this.#rows[at]
    if (row?.kind !== 'steps' || row.lane === undefined) return false
    const outcome = status === 'failed' || status === 'cancelled' ? status : 'completed'
    this.#rows[at] = { ...row, lane: { ...row.lane, outcome, summary: textOf(event, 'summary') } }
    return true
  }

  /** Searches from the end: calls end soon after they start. Returns false if no group has the call. */
  replaceTool(id: string, change: (step: ToolStep) => ToolStep): boolean {
    for (let at = this.#rows.length - 1; at >= 0; at--) {
      const row = this.#rows[at]
      if (row?.kind !== 'steps') continue
      const index = row.steps.findLastIndex(step => step.kind === 'tool' && step.id === id)
      const step = row.steps[index]
      if (step?.kind !== 'tool') continue
      this.#stepsOf(row, at)[index] = change(step)
      return true
    }
    return false
  }

  /** A call and a sub-agent without an end in the log ended with its Run. Messages and the end of a Run that waits may lie in between. */
  closeTools(runId: string | undefined): void {
    for (let at = this.#rows.length - 1; at >= 0; at--) {
      const row = this.#rows[at]
      if (row?.kind !== 'steps' && row?.kind !== 'reply') continue
      if (row.runId !== (runId ?? null)) return
      if (row.kind === 'reply') continue
      const { lane, steps } = row
      if (lane?.outcome !== null && !steps.some(isRunning)) continue
      this.#rows[at] = {
        ...row,
        steps: steps.map(step => (isRunning(step) ? { ...step, status: 'failed' } : step)),
        ...(lane !== undefined && { lane: { ...lane, outcome: lane.outcome ?? 'cancelled' } }),
      }
    }
  }
}

/** Returns a sub-agent that has begun: with its task, or with a call that is marked as its own. */
export const laneOf = (event: Event): Lane => ({
  id: textOf(event, 'delegationId'),
  task: textOf(event, 'task'),
  outcome: null,
  summary: '',
})

function isRunning(step: Step): step is ToolStep {
  return step.kind === 'tool' && step.status === 'running'
}

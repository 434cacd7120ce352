import type { Event } from '@berth/client'
import type { EventData } from '@berth/contract'
import { notices } from './notices.ts'
import type { InteractionRow, Row, Step, ToolStep } from './rows.ts'

/** What the page knows from the part of a Session's log that it has loaded. Every value is immutable. */
export interface LogView {
  readonly rows: readonly Row[]
  /** Sequence of the first and the last Event folded; 0 before any. */
  readonly first: number
  readonly last: number
  /** The Run that has started and not ended. */
  readonly activeRun: { readonly id: string; readonly startedAt: string; readonly attempt: number } | null
  /** Sequence of the last Event that may have changed files; a review that is older may be stale. */
  readonly editedAt: number
  /** Sequence of the last Event after which the Session itself reads differently. */
  readonly changedAt: number
  /** Sequence of the last Event about an Interaction, and of the last about a delivery. */
  readonly askedAt: number
  readonly deliveredAt: number
}

export const emptyView: LogView = {
  rows: [],
  first: 0,
  last: 0,
  activeRun: null,
  editedAt: 0,
  changedAt: 0,
  askedAt: 0,
  deliveredAt: 0,
}

/** Tool kinds that leave files as they are. */
const harmless: ReadonlySet<string> = new Set(['read', 'search', 'think', 'fetch', 'switch_mode'])

/**
 * Returns the view after more Events, in order. An Event that the view already has is skipped, so a repeated page does
 * no harm. Unknown types change nothing but `last`.
 */
export function extend(view: LogView, events: readonly Event[]): LogView {
  const draft = new Draft(view)
  for (const event of events) if (event.sequence > draft.last) draft.apply(event)
  return draft.view()
}

/** A view under construction: its rows are copied once for a batch, not once for an Event. */
class Draft {
  #view: LogView
  readonly #rows: Row[]

  constructor(view: LogView) {
    this.#view = view
    this.#rows = [...view.rows]
  }

  get last(): number {
    return this.#view.last
  }

  view(): LogView {
    return { ...this.#view, rows: this.#rows }
  }

  apply(event: Event): void {
    const first = this.#view.first === 0 ? event.sequence : this.#view.first
    this.#view = { ...this.#view, first, last: event.sequence }
    switch (event.type) {
      case 'svc.message.created':
        this.#message(event, event.data as EventData<'svc.message.created'>)
        break
      case 'svc.run.started':
        this.#started(event, event.data as EventData<'svc.run.started'>)
        break
      case 'svc.run.progress':
        this.#progress(event, event.data as EventData<'svc.run.progress'>)
        break
      case 'svc.activity.completed':
        this.#activity(event, event.data as EventData<'svc.activity.completed'>)
        break
      case 'svc.run.completed':
      case 'svc.run.failed':
      case 'svc.run.cancelled':
      case 'svc.run.crashed':
        this.#ended(event, event.data as EventData<'svc.run.completed'>)
        break
      case 'svc.interaction.opened':
      case 'svc.interaction.resolved':
      case 'svc.interaction.expired':
        this.#interaction(event, event.data as EventData<'svc.interaction.opened'>)
        break
      case 'svc.artifact.created':
        this.#artifact(event, event.data as EventData<'svc.artifact.created'>)
        break
      case 'svc.delegation.completed':
        if (!this.#endLane(event.data as EventData<'svc.delegation.completed'>)) this.#notice(event)
        break
      default:
        this.#notice(event)
    }
  }

  #base(event: Event) {
    return {
      key: String(event.sequence),
      sequence: event.sequence,
      at: event.createdAt,
      runId: event.subject.runId ?? null,
    }
  }

  #message(event: Event, data: EventData<'svc.message.created'>): void {
    const shared = { ...this.#base(event), text: data.text, truncated: data.truncated === true }
    if (data.role === 'user') this.#rows.push({ ...shared, kind: 'prompt', turnId: data.turnId ?? null })
    else if (data.role === 'assistant') this.#rows.push({ ...shared, kind: 'reply' })
    else this.#step(event, { kind: 'thought', id: data.messageId, text: data.text })
  }

  #started(event: Event, { attempt }: EventData<'svc.run.started'>): void {
    const id = event.subject.runId
    if (id === undefined) return
    const running = this.#view.activeRun
    const startedAt = running?.id === id ? running.startedAt : event.createdAt
    this.#view = { ...this.#view, activeRun: { id, startedAt, attempt }, changedAt: event.sequence }
    if (attempt > 1) {
      const text = `Attempt ${attempt}: the Run continues after its worker or sandbox was lost`
      this.#rows.push({ ...this.#base(event), kind: 'notice', tone: 'warning', text })
    }
  }

  /** The end of a call is left to `svc.activity.completed`, which may come without a start before it. */
  #progress(event: Event, data: EventData<'svc.run.progress'>): void {
    if (data.status === 'started') {
      const step: ToolStep = {
        kind: 'tool',
        id: data.activityId,
        name: data.name,
        title: data.name,
        toolKind: 'other',
        status: 'running',
        truncated: false,
        durationMs: null,
      }
      this.#step(event, step, data.delegationId)
      return
    }
    const status = data.status === 'failed' ? 'failed' : 'succeeded'
    this.#replaceTool(data.activityId, step => (step.status === 'running' ? { ...step, status } : step))
  }

  #activity(event: Event, data: EventData<'svc.activity.completed'>): void {
    const step: ToolStep = {
      kind: 'tool',
      id: data.activityId,
      name: data.name,
      title: data.title === '' ? data.name : data.title,
      toolKind: data.kind,
      status: data.status === 'failed' ? 'failed' : 'succeeded',
      ...(data.input === undefined ? {} : { input: data.input }),
      ...(data.output === undefined ? {} : { output: data.output }),
      ...(data.diff === undefined ? {} : { diff: data.diff }),
      truncated: data.truncated === true,
      durationMs: data.durationMs,
    }
    if (!harmless.has(data.kind)) this.#view = { ...this.#view, editedAt: event.sequence }
    if (!this.#replaceTool(data.activityId, () => step)) this.#step(event, step)
  }

  #ended(event: Event, data: EventData<'svc.run.completed'>): void {
    const running = this.#view.activeRun
    const started = running !== null && running.id === event.subject.runId ? running.startedAt : null
    this.#closeTools(event.subject.runId)
    this.#rows.push({
      ...this.#base(event),
      kind: 'end',
      outcome: data.status,
      errorCode: data.errorCode ?? null,
      stopReason: data.stopReason ?? null,
      costUsd: data.costUsd ?? null,
      costComplete: data.costComplete !== false,
      durationMs: started === null ? null : Math.max(0, Date.parse(event.createdAt) - Date.parse(started)),
    })
    this.#view = {
      ...this.#view,
      activeRun: started === null ? running : null,
      changedAt: event.sequence,
      editedAt: event.sequence,
    }
  }

  #interaction(event: Event, data: EventData<'svc.interaction.opened'>): void {
    this.#view = { ...this.#view, askedAt: event.sequence, changedAt: event.sequence }
    const at = this.#rows.findLastIndex(
      row => row.kind === 'interaction' && row.interactionId === data.interactionId && row.status === 'open',
    )
    const known = this.#rows[at] as InteractionRow | undefined
    const row: InteractionRow = {
      ...(known ?? this.#base(event)),
      kind: 'interaction',
      interactionId: data.interactionId,
      interactionKind: data.kind,
      status: data.status,
      resolution: data.resolution ?? null,
      decidedBy: data.decidedBy ?? null,
      subject: known?.subject ?? subjectOf(data),
    }
    if (known === undefined) this.#rows.push(row)
    else this.#rows[at] = row
  }

  #artifact(event: Event, data: EventData<'svc.artifact.created'>): void {
    // The summary is the agent's last message once more, and a pull request has its own notice.
    if (data.kind !== 'presented_file') return
    const { artifactId, name, mediaType, sizeBytes } = data
    this.#rows.push({ ...this.#base(event), kind: 'artifact', artifactId, name, mediaType, sizeBytes })
  }

  #notice(event: Event): void {
    const notice = notices[event.type]?.(event.data)
    if (notice === undefined || notice === null) return
    const { sets = [], ...content } = notice
    for (const field of sets) this.#view = { ...this.#view, [field]: event.sequence }
    const row: Row = { ...this.#base(event), kind: 'notice', ...content }
    const before = this.#rows.at(-1)
    if (notice.replaces === true && before?.kind === 'notice' && before.runId === row.runId) {
      this.#rows[this.#rows.length - 1] = { ...row, key: before.key }
    } else this.#rows.push(row)
  }

  /** Adds a step to the group of its Run and sub-agent at the end, or begins a group. Groups of others may lie between. */
  #step(event: Event, step: Step, lane?: string): void {
    const runId = event.subject.runId ?? null
    for (let at = this.#rows.length - 1; at >= 0; at--) {
      const row = this.#rows[at]
      if (row?.kind !== 'steps' || row.runId !== runId) break
      // Steps of the agent itself follow one another: what it does after a sub-agent stands after it.
      if (row.lane?.id !== lane && lane === undefined) break
      if (row.lane?.id !== lane) continue
      this.#rows[at] = { ...row, steps: [...row.steps, step] }
      return
    }
    const begun = lane === undefined ? {} : { lane: { id: lane, outcome: null, summary: '' } }
    this.#rows.push({ ...this.#base(event), kind: 'steps', steps: [step], ...begun })
  }

  /** Returns false if no group is the sub-agent's. */
  #endLane({ delegationId: id, status, summary = '' }: EventData<'svc.delegation.completed'>): boolean {
    const at = this.#rows.findLastIndex(row => row.kind === 'steps' && row.lane?.id === id)
    const row = this.#rows[at]
    if (row?.kind !== 'steps') return false
    const outcome = status === 'failed' || status === 'cancelled' ? status : 'completed'
    this.#rows[at] = { ...row, lane: { id, outcome, summary } }
    return true
  }

  /** Searches from the end: calls end soon after they start. Returns false if no group has the call. */
  #replaceTool(id: string, change: (step: ToolStep) => ToolStep): boolean {
    for (let at = this.#rows.length - 1; at >= 0; at--) {
      const row = this.#rows[at]
      if (row?.kind !== 'steps') continue
      const index = row.steps.findIndex(step => step.kind === 'tool' && step.id === id)
      if (index === -1) continue
      const steps = row.steps.map((step, i) => (i === index && step.kind === 'tool' ? change(step) : step))
      this.#rows[at] = { ...row, steps }
      return true
    }
    return false
  }

  /** A call without an end in the log ended with its Run. */
  #closeTools(runId: string | undefined): void {
    for (let at = this.#rows.length - 1; at >= 0; at--) {
      const row = this.#rows[at]
      if (row === undefined || row.kind === 'prompt' || row.kind === 'end') return
      if (row.kind !== 'steps' || row.runId !== (runId ?? null)) continue
      if (!row.steps.some(isRunning)) continue
      this.#rows[at] = {
        ...row,
        steps: row.steps.map(step => (isRunning(step) ? { ...step, status: 'failed' } : step)),
      }
    }
  }
}

function isRunning(step: Step): step is ToolStep {
  return step.kind === 'tool' && step.status === 'running'
}

/** Returns a line that says what is asked. The request is open data, so nothing of it is taken for granted. */
function subjectOf({ kind, request }: EventData<'svc.interaction.opened'>): string {
  if (kind === 'ask_user') {
    const questions = request?.['questions']
    const first: unknown = Array.isArray(questions) ? questions[0] : undefined
    return textIn(first, 'question')?.trim().split('\n', 1)[0] ?? 'A question'
  }
  if (kind === 'exit_plan_mode') return textIn(request, 'prompt') ?? 'A plan'
  const approval = request?.['approval']
  return textIn(approval, 'title') ?? textIn(approval, 'toolName') ?? 'An action'
}

function textIn(value: unknown, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const text: unknown = Reflect.get(value, name)
  return typeof text === 'string' && text !== '' ? text : undefined
}

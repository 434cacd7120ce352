import type { Event, EventDataByType } from '../generated/types.ts'
import { memberOf, numberOf, textOf } from './data.ts'
import { closeNotices, foldBlocked, foldSandbox } from './fold-notices.ts'
import { noticeOf } from './notices.ts'
import { baseOf, type EndRow, type InteractionRow, type NoticeRow, type Row, type ToolStep } from './rows.ts'
import { laneOf, StepRows } from './step-rows.ts'

/** The state that a reader derives from consecutive Events of a Session's log. Every value is immutable. */
export interface Transcript {
  readonly rows: readonly Row[]
  /** Sequence of the first and the last Event folded; 0 before any. */
  readonly first: number
  readonly last: number
  /** The Run that has started and not ended. */
  readonly activeRun: { readonly id: string; readonly startedAt: string; readonly attempt: number } | null
  /** Sequence of the last Event that may have changed files; a review that is older may be stale. */
  readonly editedAt: number
  /** Sequence of the last Event after which a read of the Session has another answer. */
  readonly changedAt: number
  /** Sequence of the last Event about an Interaction, and of the last about a delivery. */
  readonly interactionAt: number
  readonly deliveredAt: number
}

export const emptyTranscript: Transcript = {
  rows: [],
  first: 0,
  last: 0,
  activeRun: null,
  editedAt: 0,
  changedAt: 0,
  interactionAt: 0,
  deliveredAt: 0,
}

/** Tool kinds that leave files as they are. */
const harmless: ReadonlySet<string> = new Set(['read', 'search', 'think', 'fetch', 'switch_mode'])

const interactionStatus = {
  'svc.interaction.opened': 'open',
  'svc.interaction.resolved': 'resolved',
  'svc.interaction.expired': 'expired',
} as const

/**
 * Returns the transcript after more Events, in order. An Event that the transcript already has is skipped, so a repeated
 * page does no harm. Unknown types change nothing but `last`.
 *
 * @param keep rows and steps to keep; readers that only need the changes bound their memory by it. A call that ends after
 * its start was dropped becomes a new step.
 */
export function extendTranscript(
  transcript: Transcript,
  events: readonly Event[],
  keep = Number.POSITIVE_INFINITY,
): Transcript {
  const draft = new Draft(transcript)
  for (const event of events) if (event.sequence > draft.last) draft.apply(event)
  const next = draft.transcript()
  return keep === Number.POSITIVE_INFINITY ? next : { ...next, rows: lastOf(next.rows, keep) }
}

/** Returns the last rows, and of the first of them the last steps. */
function lastOf(rows: readonly Row[], keep: number): readonly Row[] {
  let room = keep
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows[at]
    const size = row?.kind === 'steps' ? row.steps.length : 1
    if (size > room) {
      const rest = rows.slice(at + 1)
      return row?.kind === 'steps' && room > 0 ? [{ ...row, steps: row.steps.slice(-room) }, ...rest] : rest
    }
    room -= size
  }
  return rows
}

/** A transcript under construction: its rows are copied once for a batch, not once for an Event. */
class Draft {
  #view: Transcript
  readonly #rows: Row[]
  readonly #steps: StepRows

  constructor(transcript: Transcript) {
    this.#view = transcript
    this.#rows = [...transcript.rows]
    this.#steps = new StepRows(this.#rows)
  }

  get last(): number {
    return this.#view.last
  }

  transcript(): Transcript {
    return { ...this.#view, rows: this.#rows }
  }

  apply(event: Event): void {
    const first = this.#view.first === 0 ? event.sequence : this.#view.first
    this.#view = { ...this.#view, first, last: event.sequence }
    switch (event.type) {
      case 'svc.message.created':
        this.#message(event)
        break
      case 'svc.run.started':
        this.#started(event)
        break
      case 'svc.run.progress':
        this.#progress(event)
        break
      case 'svc.activity.completed':
        if (event.subject.runId === undefined && textOf(event, 'name') === 'restore') this.#notice(event)
        else this.#activity(event)
        break
      case 'svc.run.completed':
      case 'svc.run.failed':
      case 'svc.run.cancelled':
      case 'svc.run.crashed':
        this.#ended(event)
        break
      case 'svc.interaction.opened':
      case 'svc.interaction.resolved':
      case 'svc.interaction.expired':
        this.#interaction(event)
        break
      case 'svc.artifact.created':
        this.#artifact(event)
        break
      case 'svc.revision.created':
        this.#revision(event)
        break
      case 'svc.delegation.started':
        this.#rows.push({ ...baseOf(event), kind: 'steps', steps: [], lane: laneOf(event) })
        break
      case 'svc.delegation.completed':
        if (!this.#steps.endLane(event)) this.#notice(event)
        break
      default:
        this.#notice(event)
    }
  }

  #message(event: Event): void {
    const [role, text] = [textOf(event, 'role'), textOf(event, 'text')]
    const row = { ...baseOf(event), text, truncated: event.data.truncated === true }
    if (role === 'user') {
      // Its Turn may have begun a Run, for which it waited no longer.
      this.#view = { ...this.#view, changedAt: event.sequence }
      this.#rows.push({ ...row, kind: 'prompt', turnId: textOf(event, 'turnId') || null })
    } else if (role === 'reasoning') this.#steps.add(event, { kind: 'thought', id: textOf(event, 'messageId'), text })
    else this.#rows.push({ ...row, kind: 'reply' })
  }

  #started(event: Event): void {
    const id = event.subject.runId
    if (id === undefined) return
    const attempt = numberOf(event, 'attempt') ?? 1
    const running = this.#view.activeRun
    const startedAt = running?.id === id ? running.startedAt : event.createdAt
    this.#view = { ...this.#view, activeRun: { id, startedAt, attempt }, changedAt: event.sequence }
    closeNotices(this.#rows, id)
    if (attempt > 1) {
      this.#steps.closeTools(id)
      const text = `Attempt ${attempt}: the Run continues after its worker or sandbox was lost`
      this.#rows.push({ ...baseOf(event), kind: 'notice', tone: 'warning', text })
    }
  }

  /** Sets the status alone: `svc.activity.completed` brings the result, and may come without a start before it. */
  #progress(event: Event): void {
    const [id, name, status] = [textOf(event, 'activityId'), textOf(event, 'name'), textOf(event, 'status')]
    if (status === 'started') {
      const call = { kind: 'tool', id, name, title: name, toolKind: 'other' } as const
      const step: ToolStep = { ...call, status: 'running', truncated: false, durationMs: null }
      this.#steps.add(event, step, textOf(event, 'delegationId') || undefined)
      return
    }
    const end = status === 'failed' ? 'failed' : 'succeeded'
    this.#steps.replaceTool(id, step => (step.status === 'running' ? { ...step, status: end } : step))
  }

  #activity(event: Event): void {
    const { input, output, diff, truncated } = event.data as Partial<EventDataByType['svc.activity.completed']>
    const name = textOf(event, 'name')
    const step: ToolStep = {
      kind: 'tool',
      id: textOf(event, 'activityId'),
      name,
      title: textOf(event, 'title') || name,
      toolKind: textOf(event, 'kind'),
      status: textOf(event, 'status') === 'failed' ? 'failed' : 'succeeded',
      ...(input !== undefined && { input }),
      ...(output !== undefined && { output }),
      ...(diff !== undefined && { diff }),
      truncated: truncated === true,
      durationMs: numberOf(event, 'durationMs') ?? 0,
    }
    if (!harmless.has(step.toolKind)) this.#view = { ...this.#view, editedAt: event.sequence }
    if (!this.#steps.replaceTool(step.id, () => step)) this.#steps.add(event, step)
  }

  #ended(event: Event): void {
    const { result, costComplete } = event.data
    const running = this.#view.activeRun
    const started = running !== null && running.id === event.subject.runId ? running.startedAt : null
    this.#steps.closeTools(event.subject.runId)
    closeNotices(this.#rows, event.subject.runId ?? null)
    this.#rows.push({
      ...baseOf(event),
      kind: 'end',
      outcome: event.type.slice('svc.run.'.length) as EndRow['outcome'],
      errorCode: textOf(event, 'errorCode') || null,
      stopReason: textOf(event, 'stopReason') || null,
      turns: numberOf(event, 'turns'),
      costUsd: numberOf(event, 'costUsd'),
      costComplete: costComplete !== false,
      ...(typeof result === 'object' && result !== null && 'output' in result && { output: result.output }),
      durationMs: started === null ? null : Math.max(0, Date.parse(event.createdAt) - Date.parse(started)),
    })
    this.#view = {
      ...this.#view,
      activeRun: started === null ? running : null,
      changedAt: event.sequence,
      editedAt: event.sequence,
    }
  }

  /** Belongs to the end of its Run, which may lie before the transcript. */
  #revision(event: Event): void {
    this.#view = { ...this.#view, changedAt: event.sequence }
    const { runId, revision, files, additions, deletions } =
      event.data as unknown as EventDataByType['svc.revision.created']
    const at = this.#rows.findLastIndex(row => row.kind === 'end' && row.runId === runId)
    const row = this.#rows[at]
    if (row?.kind === 'end') this.#rows[at] = { ...row, changes: { revision, files, additions, deletions } }
  }

  #interaction(event: Event): void {
    this.#view = { ...this.#view, interactionAt: event.sequence, changedAt: event.sequence }
    const data = event.data as unknown as EventDataByType['svc.interaction.opened']
    const at = this.#rows.findLastIndex(
      row => row.kind === 'interaction' && row.interactionId === data.interactionId && row.status === 'open',
    )
    const known = this.#rows[at] as InteractionRow | undefined
    const row: InteractionRow = {
      ...(known ?? baseOf(event)),
      kind: 'interaction',
      interactionId: data.interactionId,
      interactionKind: data.kind,
      status: interactionStatus[event.type as keyof typeof interactionStatus],
      resolution: data.resolution ?? null,
      decidedBy: data.decidedBy ?? null,
      subject: known?.subject ?? subjectOf(event),
    }
    if (known === undefined) this.#rows.push(row)
    else this.#rows[at] = row
  }

  #artifact(event: Event): void {
    // The summary repeats the agent's last message, and a pull request has its own notice.
    if (textOf(event, 'kind') !== 'presented_file') return
    const { artifactId, name, mediaType, sizeBytes } = event.data as unknown as EventDataByType['svc.artifact.created']
    this.#rows.push({ ...baseOf(event), kind: 'artifact', artifactId, name, mediaType, sizeBytes })
  }

  #notice(event: Event): void {
    const notice = noticeOf(event)
    if (notice === undefined) return
    const { sets = [], ...content } = notice
    for (const field of sets) this.#view = { ...this.#view, [field]: event.sequence }
    const row: NoticeRow = { ...baseOf(event), kind: 'notice', ...content }
    const { step, ongoing } = content
    // Another worker begins the step again.
    if (ongoing === true) closeNotices(this.#rows, row.runId, content.text)
    // Steps may go on at the same time, so the start of this one need not be the last row.
    const isStart = (start: Row) => start.kind === 'notice' && start.ongoing === true && start.step === step
    const at = step === undefined || ongoing === true ? -1 : this.#rows.findLastIndex(isStart)
    const start = this.#rows[at]
    if (start !== undefined) this.#rows[at] = { ...row, key: start.key }
    else if (!foldSandbox(this.#rows, row) && !foldBlocked(this.#rows, row)) this.#rows.push(row)
  }
}

/** Returns the text that names the question, plan or action. The request is open data, so any of it may be missing. */
function subjectOf(event: Event): string {
  const { request } = event.data
  const kind = textOf(event, 'kind')
  const prompt = textIn(request, 'prompt')
  if (kind === 'exit_plan_mode') return prompt ?? 'A plan'
  if (kind === 'ask_user') {
    const questions = memberOf(request, 'questions')
    const first: unknown = Array.isArray(questions) ? questions[0] : undefined
    return textIn(first, 'question') ?? prompt ?? 'A question'
  }
  const approval = memberOf(request, 'approval')
  return textIn(approval, 'title') ?? textIn(approval, 'toolName') ?? 'An action'
}

function textIn(value: unknown, name: string): string | undefined {
  const text = memberOf(value, name)
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined
}

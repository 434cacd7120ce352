import type { Event, Preview, Session } from '@berth/client'
import { textOf } from '@berth/client/transcript'
import {
  type LiveState,
  liveStateOf,
  type StatusAt,
  showCancelling,
  showEvent,
  showPreview,
  showStatus,
} from '../live-view.ts'
import type { Paint } from '../output.ts'
import { printable, printableLine } from '../terminal-text.ts'

/** Shows a Session over all its Runs; between two of them nothing changes below the text. */
export class SessionView {
  readonly #paint: Paint
  /** The last preview. It may arrive before the Events of its Run. */
  #preview: Preview | null = null
  #state: LiveState

  /** @param session its to-do list and commands in the background before the first Event */
  constructor(paint: Paint, session: Pick<Session, 'plan' | 'background'>) {
    this.#paint = paint
    this.#state = { ...liveStateOf(session), stage: 'ended' }
  }

  /** Returns true while a Run goes on. */
  get isBusy(): boolean {
    return this.#state.stage !== 'ended'
  }

  /** Applies the next Event, and returns the lines that stay. The prompt shows Interactions. */
  event(event: Event): readonly string[] {
    const isMessage = event.type === 'svc.message.created' && textOf(event, 'role') === 'user'
    const begins = isMessage || event.type === 'svc.run.started'
    if (begins && !this.isBusy) this.#begin('queued')
    const shown = showEvent(this.#state, event, this.#paint)
    this.#state = shown.state
    if (event.type === 'svc.interaction.opened') return []
    return isMessage ? [...this.#promptLines(event), ...shown.lines] : shown.lines
  }

  /** Sets from the Session whether a Run is active, before the first Event. */
  begin(isBusy: boolean): void {
    if (isBusy !== this.isBusy) this.#begin(isBusy ? 'working' : 'ended')
  }

  preview(preview: Preview): void {
    this.#preview = preview
    this.#state = showPreview(this.#state, preview)
  }

  cancelling(): void {
    this.#state = showCancelling(this.#state)
  }

  status(at: StatusAt): readonly string[] {
    return showStatus(this.#state, at, this.#paint)
  }

  #begin(stage: LiveState['stage']): void {
    const state = { ...this.#state, stage }
    this.#state = this.#preview === null ? state : showPreview(state, this.#preview)
  }

  #promptLines(event: Event): string[] {
    const [first = '', ...rest] = printable(textOf(event, 'text')).trimEnd().split('\n')
    return ['', this.#paint('bold', `› ${first}`), ...rest.map(line => this.#paint('bold', `  ${line}`))]
  }
}

const resolutions: ReadonlyMap<string, string> = new Map(
  Object.entries({
    approved: 'allowed once',
    denied: 'denied',
    always_allowed: 'allowed for this session',
    project_allowed: "allowed by an operator's rule",
    turn_allowed: 'allowed for this turn',
    timed_out: 'nobody answered in time',
    cancelled: 'withdrawn',
    workspace_lost: 'the sandbox was lost',
    session_archived: 'the session was archived',
    run_cancelled: 'the run was stopped',
    run_ended: 'the run has ended',
    request_gone: 'the agent no longer waits for it',
    authority_revoked: 'whoever asked may no longer use Berth',
  }),
)

/** Returns a text that says how an Interaction was closed. */
export function resolutionText(event: Event): string {
  const resolution = textOf(event, 'resolution')
  // A rule of the operator's has no decider.
  if (resolution === 'project_allowed' && event.data['decidedBy'] !== undefined) return 'allowed for the environment'
  return resolutions.get(resolution) ?? (resolution === '' ? 'answered' : printableLine(resolution))
}

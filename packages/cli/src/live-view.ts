import type { Event, Preview, Session } from '@berth/client'
import {
  type AgentState,
  changesOf,
  emptyTranscript,
  extendAgentState,
  extendTranscript,
  formatElapsed,
  formatProgress,
  type NoticeRow,
  type Transcript,
  textOf,
} from '@berth/client/transcript'
import { backgroundLines, lastLines, outputText, planLines, rowLines, toolLine } from './event-lines.ts'
import type { Paint } from './output.ts'
import { clip, printable, printableLine } from './terminal-text.ts'

/** The display state of an active Run. Its memory is bounded. */
export interface LiveState {
  /** The end of the transcript. */
  readonly transcript: Transcript
  readonly agent: AgentState
  readonly stage: 'queued' | 'working' | 'cancelling' | 'ended'
  /** The last line that the setup of an environment wrote; '' if it wrote none. */
  readonly setupLine: string
  /** Lines of ended tool calls by id, held back until the result brings a better title. */
  readonly held: ReadonlyMap<string, string>
  /** The message that the agent is writing, until the log has it; null while it writes none. */
  readonly draft: NonNullable<Preview['message']> | null
  /** How far steps before the agent have come. */
  readonly steps: NonNullable<Preview['steps']>
  /** Id of the last message in the log. */
  readonly lastMessageId: string | null
}

export const initialLiveState: LiveState = {
  transcript: emptyTranscript,
  agent: { plan: null, background: null },
  stage: 'queued',
  setupLine: '',
  held: new Map(),
  draft: null,
  steps: [],
  lastMessageId: null,
}

/** Returns the state of a Session before the first Event: its to-do list, and its commands in the background. */
export const liveStateOf = ({ plan, background = [] }: Pick<Session, 'plan' | 'background'>): LiveState => ({
  ...initialLiveState,
  agent: { plan: plan?.entries ?? [], background },
})

/** Rows and steps of the transcript that are kept: more than an agent has open at once. */
const keptRows = 128
const heldLimit = 64
const runningShown = 4
/** The end of a draft that is shown, in lines and in characters. */
const draftLinesShown = 8
const draftLength = 2_000
const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/** Applies one Event; returns the next state, and the lines that stay on the screen. */
export function showEvent(
  state: LiveState,
  event: Event,
  paint: Paint,
): { readonly state: LiveState; readonly lines: readonly string[] } {
  if (event.type === 'svc.environment.output') {
    const line = outputText(textOf(event, 'text')).trimEnd().split('\n').at(-1) ?? ''
    return { state: line === '' ? state : { ...state, setupLine: printableLine(line) }, lines: [] }
  }
  const transcript = extendTranscript(state.transcript, [event], keptRows)
  const held = new Map(state.held)
  const tools: string[] = []
  const rows: string[] = []
  for (const change of changesOf(state.transcript, transcript)) {
    for (const step of change.steps) {
      if (step.kind !== 'tool' || step.status === 'running') continue
      if (step.durationMs === null) held.set(step.id, toolLine(step, paint))
      else {
        held.delete(step.id)
        tools.push(toolLine(step, paint), ...lastLines(printable(step.output ?? ''), paint))
      }
    }
    rows.push(...rowLines(change, event, paint))
  }
  // Held-back lines come before those of a later Event, even without their better titles, to keep the order.
  const ready = [...held].slice(0, rows.length > 0 ? held.size : Math.max(0, held.size - heldLimit))
  for (const [id] of ready) held.delete(id)
  const isSetup = event.type === 'svc.environment.apply'
  return {
    state: {
      ...stateAfter(state, event),
      transcript,
      agent: extendAgentState(state.agent, event),
      held,
      ...(isSetup && { setupLine: '' }),
    },
    lines: [...tools, ...ready.map(([, line]) => line), ...rows],
  }
}

function stateAfter(state: LiveState, event: Event): LiveState {
  switch (event.type) {
    case 'svc.run.started':
      return state.stage === 'cancelling' ? state : { ...state, stage: 'working' }
    // A message of the log replaces its draft.
    case 'svc.message.created':
      return textOf(event, 'role') === 'user'
        ? state
        : { ...state, draft: null, lastMessageId: textOf(event, 'messageId') }
    case 'svc.run.completed':
    case 'svc.run.failed':
    case 'svc.run.cancelled':
    case 'svc.run.crashed':
      return { ...state, stage: 'ended', draft: null }
    default:
      return state
  }
}

/** Returns the state after a request to cancel. */
export function showCancelling(state: LiveState): LiveState {
  return state.stage === 'ended' ? state : { ...state, stage: 'cancelling' }
}

/** Returns the state with what a preview has. It may arrive after the Event that replaces its message. */
export function showPreview(state: LiveState, { message, steps = [] }: Preview): LiveState {
  if (message === undefined || state.lastMessageId === message.messageId) return { ...state, steps, draft: null }
  return state.stage === 'ended' ? state : { ...state, steps, draft: message }
}

/** Returns the last lines of the draft, as wide as the terminal. */
function draftLines({ draft }: LiveState, columns: number, paint: Paint): string[] {
  if (draft === null) return []
  const width = Math.max(20, columns - 1)
  const lines = printable(draft.text.slice(-draftLength))
    .trimEnd()
    .split('\n')
    .flatMap(line => line.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [''])
    .slice(-draftLinesShown)
  return draft.role === 'reasoning' ? lines.map(line => paint('dim', line)) : lines
}

/** What the changing lines depend on besides the state. `now` is the service's time. */
export interface StatusAt {
  readonly frame: number
  readonly columns: number
  readonly now: number
}

/** Returns the changing lines below the text: the draft, and the current activity. */
export function showStatus(state: LiveState, at: StatusAt, paint: Paint): string[] {
  if (state.stage === 'ended') return []
  const mark = paint('cyan', spinner[at.frame % spinner.length] ?? '')
  const tools = state.transcript.rows
    .flatMap(row => (row.kind === 'steps' ? row.steps : []))
    .flatMap(step => (step.kind === 'tool' && step.status === 'running' ? [printableLine(step.title)] : []))
  const hidden = tools.length - runningShown
  const label = labelOf(state, at.now)
  const busy = [
    ...tools.slice(0, runningShown),
    ...(hidden > 0 ? [`and ${hidden} more`] : []),
    ...(label === 'working' && tools.length > 0 ? [] : [`${label}…`]),
  ]
  return [
    ...draftLines(state, at.columns, paint),
    ...planLines(state.agent.plan ?? [], at.columns, paint),
    ...backgroundLines(state.agent.background ?? [], at.columns, paint),
    ...busy.map(line => `${mark} ${clip(line, at.columns - 3)}`),
  ]
}

function labelOf({ stage, steps, transcript: { rows }, setupLine }: LiveState, now: number): string {
  if (stage === 'cancelling') return stage
  if (rows.some(row => row.kind === 'interaction' && row.status === 'open')) return 'waiting for an answer'
  // A step may have ended beside one that goes on.
  const last = rows.findLast(row => row.kind !== 'notice' || row.step === undefined || row.ongoing === true)
  if (last?.kind === 'notice' && last.ongoing === true) return setupLine || printableLine(stepText(last, steps, now))
  return stage === 'working' ? stage : 'waiting for a sandbox'
}

/** Returns a step that goes on with its time so far and its progress. */
function stepText({ text, at, step }: NoticeRow, steps: LiveState['steps'], now: number): string {
  const progress = steps.find(({ stepId }) => stepId === step)?.progress
  const forMs = now - Date.parse(at)
  const parts = [...(forMs >= 1000 ? [formatElapsed(forMs)] : []), ...(progress ? [formatProgress(progress)] : [])]
  return [text, ...parts].join(' · ')
}

import type { Event, Preview } from '@berth/client'
import { applyOutcome, shownText } from './environments/apply-log.ts'
import { costText, durationText, numberOf, outputOf, textOf } from './event-data.ts'
import { messageLines } from './message-lines.ts'
import { noticeLines } from './notices.ts'
import type { Paint } from './output.ts'
import { clip, printable, printableLine } from './terminal-text.ts'

/** The display state of an active Run: its running tools and a bounded number of finished ones, but never text. */
export interface LiveState {
  readonly stage: 'queued' | 'applying' | 'working' | 'waiting' | 'cancelling' | 'ended'
  /** What is shown of a long step before the agent begins; of an environment that is applied, the last line that it wrote. */
  readonly applying: string
  /** Running tool calls by activity id, oldest first. */
  readonly running: ReadonlyMap<string, string>
  /** Lines of ended tool calls by activity id, held back until the activity brings a better title. */
  readonly settling: ReadonlyMap<string, string>
  /** Tool calls whose activity arrived before their end, newest last. */
  readonly announced: readonly string[]
  readonly startedAtMs: number | null
  /** What the agent is saying, until the log has it; null while it says nothing. */
  readonly saying: NonNullable<Preview['message']> | null
  /** Id of the last message of the log. */
  readonly told: string | null
}

export const initialLiveState: LiveState = {
  stage: 'queued',
  applying: '',
  running: new Map(),
  settling: new Map(),
  announced: [],
  startedAtMs: null,
  saying: null,
  told: null,
}

const heldLimit = 64
const runningShown = 4
const outputLines = 12
/** The end of what is being said that is shown, in lines and in characters. */
const sayingShown = 8
const sayingLength = 2_000
const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/** Applies one Event; returns the next state, and the lines that stay on the screen. */
export function showEvent(state: LiveState, event: Event, paint: Paint): Shown {
  if (event.type === 'svc.run.progress') return showProgress(state, event, paint)
  if (event.type === 'svc.activity.completed') return showActivity(state, event, paint)
  const { state: next, lines } = showOther(state, event, paint)
  if (lines.length === 0) return { state: next, lines }
  // Print held-back lines before this Event's, even without their better titles, to keep the order.
  return { state: { ...next, settling: new Map() }, lines: [...state.settling.values(), ...lines] }
}

interface Shown {
  readonly state: LiveState
  readonly lines: readonly string[]
}

function showOther(state: LiveState, event: Event, paint: Paint): Shown {
  switch (event.type) {
    case 'svc.run.started':
      return { state: underWay(state, event), lines: [] }
    case 'svc.environment.apply':
      return showApply(state, event, paint)
    case 'svc.workspace.progress': {
      const title = printableLine(textOf(event, 'title'))
      return textOf(event, 'status') === 'started'
        ? { state: { ...atStage(state, 'applying'), applying: title }, lines: [] }
        : {
            state: atStage(state, state.startedAtMs === null ? 'queued' : 'working'),
            lines: [toolLine(event, title, paint)],
          }
    }
    case 'svc.environment.output': {
      const last = shownText(textOf(event, 'text')).trimEnd().split('\n').at(-1) ?? ''
      return { state: last === '' ? state : { ...state, applying: printableLine(last) }, lines: [] }
    }
    case 'svc.message.created':
      return { state: told(state, event), lines: saidLines(event, paint) }
    case 'svc.interaction.opened':
      return { state: atStage(state, 'waiting'), lines: [paint('yellow', `? ${question(event)}`), howTo(event, paint)] }
    case 'svc.interaction.resolved':
    case 'svc.interaction.expired':
      return { state: atStage(state, 'working'), lines: [] }
    case 'svc.artifact.created':
      return { state, lines: [`${paint('cyan', '+')} ${printableLine(textOf(event, 'name'))}`] }
    case 'svc.run.completed':
    case 'svc.run.failed':
    case 'svc.run.cancelled':
    case 'svc.run.crashed':
      return {
        state: { ...state, stage: 'ended', running: new Map(), saying: null },
        lines: [outcomeLine(state, event, paint), ...outputLinesOf(event)],
      }
    default:
      return { state, lines: noticeLines(event, paint) }
  }
}

/** Returns the state after a request to cancel. */
export function showCancelling(state: LiveState): LiveState {
  return state.stage === 'ended' ? state : { ...state, stage: 'cancelling' }
}

/** Returns the state with what the agent is saying now. A preview may come later than the Event that replaces it. */
export function showPreview(state: LiveState, { message }: Preview): LiveState {
  if (message === undefined || state.told === message.messageId) return { ...state, saying: null }
  return state.stage === 'ended' ? state : { ...state, saying: message }
}

/** Returns the last lines of what is being said, as wide as the terminal. */
function sayingLines({ saying }: LiveState, columns: number, paint: Paint): string[] {
  if (saying === null) return []
  const width = Math.max(20, columns - 1)
  const lines = printable(saying.text.slice(-sayingLength))
    .trimEnd()
    .split('\n')
    .flatMap(line => line.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [''])
    .slice(-sayingShown)
  return saying.role === 'reasoning' ? lines.map(line => paint('dim', line)) : lines
}

/** Returns the changing lines below the text: what is being said, and the current activity. */
export function showStatus(state: LiveState, at: { frame: number; columns: number }, paint: Paint): string[] {
  if (state.stage === 'ended') return []
  const turn = paint('cyan', spinner[at.frame % spinner.length] ?? '')
  const tools = [...state.running.values()]
  const label = {
    queued: 'waiting for a sandbox',
    applying: state.applying,
    working: 'working',
    waiting: 'waiting for an answer',
    cancelling: 'cancelling',
  }
  const stage = state.stage === 'working' && tools.length > 0 ? [] : [`${label[state.stage]}…`]
  const hidden = tools.length - runningShown
  const more = hidden > 0 ? [`and ${hidden} more`] : []
  const busy = [...tools.slice(0, runningShown), ...more, ...stage]
  return [...sayingLines(state, at.columns, paint), ...busy.map(line => `${turn} ${clip(line, at.columns - 3)}`)]
}

/** Changes the stage, except that `cancelling` stays until the end. */
function atStage(state: LiveState, stage: LiveState['stage']): LiveState {
  return state.stage === 'cancelling' ? state : { ...state, stage }
}

/** While an environment is applied, one line tells of it; its output is shown if it fails. */
function showApply(state: LiveState, event: Event, paint: Paint): Shown {
  const name = `environment ${printableLine(textOf(event, 'name'))}`
  const status = textOf(event, 'status')
  if (status === 'started') return { state: { ...atStage(state, 'applying'), applying: `applying ${name}` }, lines: [] }
  const [mark, tail] =
    status === 'succeeded'
      ? [paint('green', '✓'), []]
      : [paint('red', '✗'), outputTail(shownText(textOf(event, 'outputTail')), paint)]
  return { state: atStage(state, 'queued'), lines: [`${mark} ${name} ${paint('dim', applyOutcome(event))}`, ...tail] }
}

/** A new attempt starts with no tool running, even if the lost one left some. */
function underWay(state: LiveState, event: Event): LiveState {
  return { ...atStage(state, 'working'), running: new Map(), startedAtMs: state.startedAtMs ?? timeOf(event) }
}

function showProgress(state: LiveState, event: Event, paint: Paint): Shown {
  const id = textOf(event, 'activityId')
  const name = printableLine(textOf(event, 'name'))
  const running = new Map(state.running)
  if (textOf(event, 'status') === 'started') return { state: { ...state, running: running.set(id, name) }, lines: [] }
  running.delete(id)
  if (state.announced.includes(id)) return { state: { ...state, running }, lines: [] }
  const settling = new Map(state.settling).set(id, toolLine(event, name, paint))
  const [oldest] = settling
  if (settling.size <= heldLimit || oldest === undefined) return { state: { ...state, running, settling }, lines: [] }
  settling.delete(oldest[0])
  return { state: { ...state, running, settling }, lines: [oldest[1]] }
}

function showActivity(state: LiveState, event: Event, paint: Paint): Shown {
  const id = textOf(event, 'activityId')
  const [running, settling] = [new Map(state.running), new Map(state.settling)]
  running.delete(id)
  const announced = settling.delete(id) ? state.announced : [...state.announced, id].slice(-heldLimit)
  const title = printableLine(textOf(event, 'title') || textOf(event, 'name'))
  return {
    state: { ...state, running, settling, announced },
    lines: [toolLine(event, title, paint), ...outputTail(printable(textOf(event, 'output')), paint)],
  }
}

function toolLine(event: Event, name: string, paint: Paint): string {
  const took = numberOf(event, 'durationMs')
  const mark = textOf(event, 'status') === 'failed' ? paint('red', '✗') : paint('green', '✓')
  return `${mark} ${name}${took === null ? '' : paint('dim', ` ${durationText(took)}`)}`
}

/** Returns the last lines of a tool's output, because they matter most. */
function outputTail(output: string, paint: Paint): string[] {
  const text = output.trimEnd()
  if (text === '') return []
  const lines = text.split('\n')
  const hidden = lines.length - outputLines
  const mark = hidden > 0 ? [`… ${hidden} more line${hidden === 1 ? '' : 's'} above`] : []
  return [...mark, ...lines.slice(-outputLines)].map(line => paint('dim', `  ${line}`))
}

function saidLines(event: Event, paint: Paint): string[] {
  const text = printable(textOf(event, 'text')).trimEnd()
  switch (textOf(event, 'role')) {
    case 'assistant':
      return messageLines(text, paint)
    case 'reasoning':
      return text === '' ? [] : text.split('\n').map(line => paint('dim', line))
    default:
      return []
  }
}

/** A message of the log takes the place of what was being said. */
function told(state: LiveState, event: Event): LiveState {
  return textOf(event, 'role') === 'user' ? state : { ...state, saying: null, told: textOf(event, 'messageId') }
}

/** Returns the question that the Run waits on, in one line. */
function question(event: Event): string {
  const request: unknown = event.data.request
  const text = textIn(request, 'prompt') || textIn(firstOf(request, 'questions'), 'question')
  return printableLine(text || textIn(firstOf(request, 'approval'), 'title') || textOf(event, 'kind'))
}

/** Returns the command that answers it. */
function howTo(event: Event, paint: Paint): string {
  const [session, id] = [event.subject.sessionId, textOf(event, 'interactionId')].map(printableLine)
  const isApproval = textOf(event, 'kind') === 'approval'
  const command = isApproval ? `berth approve ${session} ${id}` : `berth answer ${session} <text> --to ${id}`
  return paint('dim', `  ${command}`)
}

function textIn(value: unknown, name: string): string {
  const text = fieldIn(value, name)
  return typeof text === 'string' ? text : ''
}

function firstOf(value: unknown, name: string): unknown {
  const field = fieldIn(value, name)
  return Array.isArray(field) ? field[0] : field
}

function fieldIn(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined
}

function outcomeLine(state: LiveState, event: Event, paint: Paint): string {
  const status = event.type.slice('svc.run.'.length)
  const stop = textOf(event, 'stopReason')
  const cause = textOf(event, 'errorCode') || (stop === 'completed' ? '' : stop)
  const took = state.startedAtMs === null ? '' : durationText(timeOf(event) - state.startedAtMs)
  const details = [cause, took, costText(event)].filter(Boolean).map(printableLine).join(' · ')
  const look = status === 'completed' ? 'green' : status === 'cancelled' ? 'yellow' : 'red'
  return `${paint(look, status)}${details === '' ? '' : paint('dim', ` · ${details}`)}`
}

/** Returns the JSON result of a Run, as people read it. */
const outputLinesOf = (event: Event): string[] =>
  outputOf(event).flatMap(value => printable(JSON.stringify(value, null, 2)).split('\n'))

function timeOf(event: Event): number {
  return Date.parse(event.createdAt)
}

import { randomUUID } from 'node:crypto'
import type { AgentSession } from '@earendil-works/pi-coding-agent'
import { asObject } from '../json.ts'
import { BackgroundCommand } from '../tools/background/background-command.ts'
import { fitsSome } from '../tools/files/fits-globs.ts'
import type { WorkspaceChanges } from './workspace-changes.ts'

/** What is quick ends within this, whatever time the environment gives it elsewhere. */
const MAX_MS = 120_000
/** The end of a check's output that the model gets, in characters. */
const MODEL_TAIL = 8 * 1024
const PEOPLE_LINES = 10
/** Runs of the checks in one prompt: after the first, the model may mend what they found. */
const ROUNDS = 2

/** A check of the environment that takes seconds. */
export interface QuickCheck {
  readonly name: string
  /** A bash script. */
  readonly run: string
  readonly timeoutSeconds: number
  /** Globs: it only runs if one fits a file that was changed. */
  readonly paths?: readonly string[]
}

/** How a check has ended. */
interface CheckEnd {
  readonly name: string
  readonly state: 'passed' | 'failed' | 'late'
  readonly exitCode: number | null
  readonly seconds: number
  readonly output: string
}

/** Reads the checks that the platform sends with a prompt, and leaves out what is none. */
export function readChecks(given: unknown): readonly QuickCheck[] {
  if (!Array.isArray(given)) return []
  return given.flatMap((each): QuickCheck[] => {
    const { name, run, timeoutSeconds, paths } = asObject(each)
    if (typeof name !== 'string' || typeof run !== 'string' || typeof timeoutSeconds !== 'number') return []
    const globs = Array.isArray(paths) ? paths.filter(glob => typeof glob === 'string') : null
    return [{ name, run, timeoutSeconds, ...(globs !== null && { paths: globs }) }]
  })
}

/** What the checks need of a prompt. */
export interface Checking {
  readonly checks: readonly QuickCheck[]
  readonly changes: WorkspaceChanges
  readonly cwd: string
  readonly signal: AbortSignal
  readonly agent: AgentSession
  /** Whether the agent has ended its work by itself. */
  readonly isDone: () => boolean
  /** Adds text to the agent's last message. */
  readonly addText: (text: string) => void
}

/**
 * Runs the checks that the changed files call for, once the agent has ended its work. Failures go to it once; what it changes
 * then is checked once more. Its last message says what was run and how that ended, for people and, at its next step, for
 * the model. Nothing runs if no file was changed.
 */
export async function endWithChecks(parts: Checking): Promise<void> {
  const { agent, checks, changes, cwd, signal, isDone, addText } = parts
  let ends: readonly CheckEnd[] = []
  const changed = new Set<string>()
  for (let round = 1; round <= ROUNDS && isDone(); round += 1) {
    const anew = await changes.take(signal)
    if (anew.length === 0) break
    for (const path of anew) changed.add(path)
    const due = checks.filter(({ paths }) => paths === undefined || [...changed].some(path => fitsSome(path, paths)))
    ends = await runAll(due, cwd, signal)
    const hasFailed = ends.some(({ state }) => state === 'failed')
    if (!hasFailed || round === ROUNDS) break
    // What the checks themselves have written is not the agent's work.
    await changes.take(signal)
    await agent.sendCustomMessage(message(toModel(ends)), { triggerTurn: true })
  }
  if (ends.length === 0 || !isDone()) return
  const text = toPeople(ends)
  addText(text)
  await agent.sendCustomMessage(message(`The platform has added to your last message:${text}`))
}

const message = (content: string) => ({ customType: 'checks', content, display: false, details: undefined })

async function runAll(checks: readonly QuickCheck[], cwd: string, signal: AbortSignal): Promise<readonly CheckEnd[]> {
  const ends: CheckEnd[] = []
  // One after the other, as a verification runs them: some write to the same places.
  for (const check of checks) ends.push(await runOne(check, cwd, signal))
  return ends
}

async function runOne({ name, run, timeoutSeconds }: QuickCheck, cwd: string, signal: AbortSignal): Promise<CheckEnd> {
  const command = new BackgroundCommand('', run, cwd, ['BERTH_CHECK', randomUUID()])
  const began = performance.now()
  try {
    await command.wait(Math.min(timeoutSeconds * 1000, MAX_MS), undefined, signal)
  } finally {
    if (command.status === 'running') await command.kill()
  }
  const { exitCode } = command
  const state = command.status !== 'exited' ? 'late' : exitCode === 0 ? 'passed' : 'failed'
  return { name, state, exitCode, seconds: (performance.now() - began) / 1000, output: command.readAll().text }
}

const ended = ({ name, state, exitCode, seconds }: CheckEnd): string => {
  const time = `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`
  if (state === 'late') return `\`${name}\` did not end within ${time}`
  if (state === 'passed') return `\`${name}\` passed in ${time}`
  return `\`${name}\` failed ${exitCode === null ? 'by a signal' : `with exit code ${exitCode}`} after ${time}`
}

function toModel(ends: readonly CheckEnd[]): string {
  const lines = ends.map(each =>
    each.state === 'failed'
      ? `- ${ended(each)}. The end of its output:\n<output>\n${each.output.slice(-MODEL_TAIL).toWellFormed()}\n</output>`
      : `- ${ended(each)}`,
  )
  return [
    'The platform has run these checks of the environment on your changes:',
    ...lines,
    'Mend what your changes have broken; they run once more after that. Leave what was broken before, and say so. Then end with your whole account again: it replaces the one that you have given.',
  ].join('\n')
}

function toPeople(ends: readonly CheckEnd[]): string {
  const lines = ends.flatMap(each => {
    if (each.state !== 'failed') return [`- ${ended(each)}`]
    const tail = each.output.trimEnd().split('\n').slice(-PEOPLE_LINES).join('\n').slice(-2000).toWellFormed()
    const fence = '`'.repeat(Math.max(3, ...[...tail.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)))
    return [`- ${ended(each)}`, ...(tail === '' ? [] : ['', fence, tail, fence])]
  })
  return `\n\nQuick checks of the environment, run in this workspace at the end:\n\n${lines.join('\n')}`
}

import type { Step, ToolStep } from '@berth/client/transcript'
import { counted } from '../ui/format.ts'
import { printableLine } from '../ui/printable.ts'

/** Verb and noun by the name of a tool of Berth's own agent, else by the kind of the call, in the order of telling. */
const verbs: Readonly<Record<string, readonly [verb: string, noun: string, plural?: string]>> = {
  execute: ['ran', 'command'],
  edit: ['edited', 'file'],
  delete: ['deleted', 'file'],
  move: ['moved', 'file'],
  read: ['read', 'file'],
  search: ['made', 'search', 'searches'],
  fetch: ['opened', 'page'],
  delegate: ['started', 'sub-agent'],
  ask_user: ['asked', 'question'],
  exit_plan_mode: ['made', 'plan'],
  present_file: ['presented', 'file'],
}
const order = Object.keys(verbs)

/** Sums up the calls that have ended: `Ran 3 commands, edited 2 files, used grep_docs`. */
export function workSummary(steps: readonly Step[]): string {
  const groups = new Map<string, ToolStep[]>()
  for (const step of steps) {
    if (step.kind !== 'tool' || step.status === 'running') continue
    const group = [step.name, step.toolKind].find(word => Object.hasOwn(verbs, word)) ?? ''
    const members = groups.get(group)
    if (members === undefined) groups.set(group, [step])
    else members.push(step)
  }
  const phrases = order.flatMap(group => {
    const [verb = '', noun = '', plural] = verbs[group] ?? []
    const done = groups.get(group)
    return done === undefined ? [] : [`${verb} ${counted(sizeOf(group, done), noun, plural)}`]
  })
  const names = [...new Set(groups.get('')?.map(({ name }) => name))]
  if (names.length > 0)
    phrases.push(`used ${names.length > 2 ? counted(names.length, 'tool') : names.map(printableLine).join(' and ')}`)
  const text = phrases.join(', ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Files count once, however often they were changed or read. */
function sizeOf(group: string, steps: readonly ToolStep[]): number {
  if (verbs[group]?.[1] !== 'file') return steps.length
  return new Set(steps.flatMap(({ diff, title }) => diff?.map(({ path }) => path) ?? [title])).size
}

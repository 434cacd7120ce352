import { type Static, Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import { asObject } from '../json.ts'
import { textResult } from './text-result.ts'

const marks = { pending: ' ', in_progress: '~', completed: 'x' } as const
const statuses = Object.keys(marks) as (keyof typeof marks)[]

const MAX_ITEMS = 50
const MAX_CONTENT = 500

const Item = Type.Object({
  content: Type.String({ minLength: 1, maxLength: MAX_CONTENT, description: 'The step, in a few words' }),
  status: Type.Enum(statuses, { type: 'string' }),
})
const Parameters = Type.Object({ items: Type.Array(Item, { maxItems: MAX_ITEMS }) })

/** A step of the to-do list. */
export type TodoItem = Static<typeof Item>

/** Returns a tool by which the model keeps its to-do list. Each call gives the whole list. */
export function todo(keep: (items: readonly TodoItem[]) => void) {
  return defineTool({
    name: 'todo',
    label: 'todo',
    description:
      'Keep your to-do list, which people see while you work. Each call gives the whole list, in order. For work of three steps or more: write it first, have one step in_progress, and mark a step completed as soon as it is.',
    parameters: Parameters,
    async execute(_toolCallId, { items }) {
      keep(items)
      const done = items.filter(({ status }) => status === 'completed').length
      return textResult(`The list is kept: ${done} of ${items.length} completed.`)
    },
  })
}

/** Returns a text that brings the list back to a model whose conversation was compacted. */
export const todoReminder = (items: readonly TodoItem[]): string =>
  ['Your to-do list, as it stands:', ...items.map(({ content, status }) => `[${marks[status]}] ${content}`)].join('\n')

/** Reads the list from the conversation's file, which a program of the sandbox may have written; drops what is none. */
export function readItems(items: unknown): readonly TodoItem[] {
  if (!Array.isArray(items)) return []
  return items.slice(0, MAX_ITEMS).flatMap((item: unknown) => {
    const { content, status } = asObject(item)
    const known = statuses.find(one => one === status)
    if (typeof content !== 'string' || content === '' || content.length > MAX_CONTENT || known === undefined) return []
    return [{ content, status: known }]
  })
}

import type { SessionEntry, SessionManager } from '@earendil-works/pi-coding-agent'
import { asObject } from '../json.ts'
import { type BackgroundPast, readPast } from '../tools/background/background-past.ts'
import { readItems, type TodoItem } from '../tools/todo.ts'

/** Type of the entry that records turning plan mode on or off. */
export const PLAN_MODE = 'plan_mode'

/** Returns true if plan mode is on at the end of a conversation. */
export function planningIn(branch: readonly SessionEntry[]): boolean {
  const last = branch.findLast(entry => entry.type === 'custom' && entry.customType === PLAN_MODE)
  const data = last?.type === 'custom' ? last.data : undefined
  return typeof data === 'object' && data !== null && 'on' in data && data.on === true
}

/** Type of the entries that hold the to-do list, and of the message that repeats it after a compaction. */
export const TODO = 'todo'

/** Type of the entries that hold the commands in the background. */
export const BACKGROUND = 'background'

/** Returns what the last process of a conversation left of its commands in the background. */
export function backgroundIn(entries: readonly SessionEntry[]): BackgroundPast {
  const last = entries.findLast(entry => entry.type === 'custom' && entry.customType === BACKGROUND)
  return readPast(last?.type === 'custom' ? last.data : undefined)
}

/** Returns the to-do list at the end of a conversation. */
export function todoIn(branch: readonly SessionEntry[]): readonly TodoItem[] {
  const last = branch.findLast(entry => entry.type === 'custom' && entry.customType === TODO)
  return readItems(last?.type === 'custom' ? asObject(last.data)['items'] : undefined)
}

interface OpenCall {
  readonly id: string
  readonly name: string
}

/** Returns the calls without a result: the process ended while they ran, or while people were asked. */
function openCalls(branch: readonly SessionEntry[]): OpenCall[] {
  const open = new Map<string, OpenCall>()
  for (const entry of branch) {
    if (entry.type !== 'message') continue
    const { message } = entry
    if (message.role === 'assistant') {
      open.clear()
      if (message.stopReason !== 'toolUse') continue
      for (const part of message.content) {
        if (part.type === 'toolCall') open.set(part.id, { id: part.id, name: part.name })
      }
    }
    if (message.role === 'user') open.clear()
    if (message.role === 'toolResult') open.delete(message.toolCallId)
  }
  return [...open.values()]
}

/** Gives every call without a result one that reports its fate, so a model can continue from there. */
export function settleOpenCalls(manager: SessionManager): void {
  for (const { id, name } of openCalls(manager.getBranch())) {
    const asksPerson = name === 'ask_user' || name === 'exit_plan_mode'
    const text = asksPerson
      ? "The user's answer is the next message."
      : 'Interrupted: the sandbox was restarted while this ran. What it did until then may be there or not.'
    manager.appendMessage({
      role: 'toolResult',
      toolCallId: id,
      toolName: name,
      content: [{ type: 'text', text }],
      isError: !asksPerson,
      timestamp: Date.now(),
    })
  }
}

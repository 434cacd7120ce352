import type { SessionEntry, SessionManager } from '@earendil-works/pi-coding-agent'

/** Type of the entry that records turning plan mode on or off. */
export const PLAN_MODE = 'plan_mode'

/** Returns true if plan mode is on at the end of a conversation. */
export function planningIn(branch: readonly SessionEntry[]): boolean {
  const last = branch.findLast(entry => entry.type === 'custom' && entry.customType === PLAN_MODE)
  const data = last?.type === 'custom' ? last.data : undefined
  return typeof data === 'object' && data !== null && 'on' in data && data.on === true
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

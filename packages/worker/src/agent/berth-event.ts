import { type Background, backgroundLimits } from '@berth/contract'
import { cutText } from '@berth/core/sessions/log/bounded-text.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import type { Json } from '@berth/platform/kit/json.ts'
import { asObject, asText } from './acp-message.ts'

/** The extension notification for facts that ACP has no message for. */
export const BERTH_EVENT = '_berth/event'
/** Its type for the commands in the background. */
export const BACKGROUND_UPDATED = 'background_updated'

/** Longest id or status taken from an agent. */
const MAX_TOKEN_BYTES = 255

/** Longest task of a sub-agent, for any four bytes a character. */
const MAX_TASK_BYTES = 16_000

/**
 * Returns the Event in an agent's `_berth/event` notification `{ type, data }`; other members of `data` are left out.
 *
 * @returns null for an unknown type or shape
 */
export function readBerthEvent(params: Json, runId: string): EventDraft | null {
  const data = asObject(params['data']) ?? {}
  const type = asText(params['type'])
  const read = type !== undefined && Object.hasOwn(readers, type) ? readers[type]?.(data) : undefined
  return read === undefined || read === null ? null : { ...read, runId }
}

const readers: Readonly<Record<string, (data: Json) => Omit<EventDraft, 'runId'> | null>> = {
  context_compacted: data => {
    const [tokensBefore, tokensAfter] = [count(data['tokensBefore']), count(data['tokensAfter'])]
    if (tokensBefore === null || tokensAfter === null) return null
    return transcript('svc.context.compacted', { tokensBefore, tokensAfter })
  },
  conversation_cleared: () => transcript('svc.conversation.cleared', {}),
  timeline_truncated: data => {
    const droppedEvents = count(data['droppedEvents'])
    if (droppedEvents === null) return null
    return transcript('svc.timeline.truncated', { droppedEvents, reason: token(data['reason']) ?? 'unknown' })
  },
  [BACKGROUND_UPDATED]: data => {
    const reported = commandsIn(data['commands'])
    return reported === null ? null : transcript('svc.background.updated', reported)
  },
  delegation_started: data => {
    const [delegationId, task, agent] = [token(data['delegationId']), asText(data['task']), token(data['agent'])]
    if (delegationId === undefined || task === undefined) return null
    const named = agent !== undefined && { agent }
    return transcript('svc.delegation.started', { delegationId, task: cutText(task, MAX_TASK_BYTES).text, ...named })
  },
  delegation_completed: data => {
    const [delegationId, status] = [token(data['delegationId']), token(data['status'])]
    if (delegationId === undefined || status === undefined) return null
    const summary = asText(data['summary'])
    return {
      type: 'svc.delegation.completed',
      data: { delegationId, status, ...(summary !== undefined && { summary: cutText(summary).text }) },
    }
  },
}

/**
 * Leaves out commands without an id or a time, and beyond the bound those that ended or began longest ago; null if there
 * is no list.
 */
function commandsIn(listed: unknown): { readonly commands: Background; readonly truncated?: true } | null {
  if (!Array.isArray(listed)) return null
  const all = listed.flatMap((item: unknown) => {
    const { id, command, status, startedAt, exitCode } = asObject(item) ?? {}
    const [name, at] = [token(id), new Date(asText(startedAt) ?? Number.NaN)]
    if (name === undefined || Number.isNaN(at.getTime())) return []
    const { text, truncated } = cutText(asText(command) ?? '', backgroundLimits.commandCharacters)
    return [
      {
        id: name,
        command: text,
        ...(truncated && { truncated }),
        status: token(status) ?? 'running',
        startedAt: at.toISOString(),
        ...(Number.isSafeInteger(exitCode) && { exitCode: Number(exitCode) }),
      },
    ]
  })
  if (all.length <= backgroundLimits.commands) return { commands: all }
  const newest = all.toReversed()
  const byUse = [...newest.filter(isRunning), ...newest.filter(each => !isRunning(each))]
  const kept = new Set(byUse.slice(0, backgroundLimits.commands))
  return { commands: all.filter(each => kept.has(each)), truncated: true }
}

const isRunning = ({ status }: Background[number]): boolean => status === 'running'

const transcript = (type: string, data: Json) => ({ type, visibility: 'transcript' as const, data })

const count = (value: unknown): number | null =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null

function token(value: unknown): string | undefined {
  const text = asText(value)
  return text === undefined || text === '' ? undefined : cutText(text, MAX_TOKEN_BYTES).text
}

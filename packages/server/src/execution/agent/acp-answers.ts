import type { InteractionRow } from '../../sessions/interactions/interaction.ts'
import { type Order, refuse, reply } from './acp-orders.ts'
import type { AgentRequest } from './acp-questions.ts'

/** JSON-RPC's error code for a request that its caller withdrew. */
const REQUEST_CANCELLED = -32800

export const agentRequestOf = (row: Pick<InteractionRow, 'agent_request'>): AgentRequest =>
  JSON.parse(row.agent_request)

/** Returns the reply to the agent for an Interaction that was closed. */
export function answerTo(row: InteractionRow): Order {
  const request = agentRequestOf(row)
  const { journal_offset: offset, resolution } = row
  if (resolution === 'request_gone') return refuse(offset, request.id, REQUEST_CANCELLED, 'the request was cancelled')
  return reply(offset, request.id, request.method === 'form' ? formResult(row) : permissionResult(row, request))
}

function formResult(row: InteractionRow): object {
  if (row.answer === null) return { action: 'cancel' }
  const { content, text }: { content: object; text?: string } = JSON.parse(row.answer)
  return { action: 'accept', content, ...(text !== undefined && { _meta: { berth: { text } } }) }
}

function permissionResult(row: InteractionRow, request: Extract<AgentRequest, { method: 'permission' }>): object {
  const { resolution } = row
  if (resolution === 'run_cancelled' || resolution === 'authority_revoked') return { outcome: { outcome: 'cancelled' } }
  const granted = row.status === 'resolved' && row.resolution !== 'denied'
  if (granted && request.allow !== null) return { outcome: selected(request.allow) }
  const { text }: { text?: string } = row.answer === null ? {} : JSON.parse(row.answer)
  return { outcome: denial(request.deny), ...(text !== undefined && { _meta: { berth: { feedback: text } } }) }
}

const selected = (optionId: string) => ({ outcome: 'selected', optionId })

/** Denies a permission request: by the agent's own option if it offers one, else as cancelled. */
export const denial = (deny: string | null) => (deny === null ? { outcome: 'cancelled' } : selected(deny))

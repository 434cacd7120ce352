import { NATIVE_RUNTIME } from '@berth/core/runtimes/catalog.ts'
import type { PromptOf } from '../agent/acp-orders.ts'
import { agentRequestOf } from '../agent/acp-questions.ts'
import { AgentConversation } from '../agent/agent-conversation.ts'
import type { RunAttemptParts } from './run-attempt.ts'

/** Returns the conversation with a lease's agent as the rows have it, from which reading the journal goes on. */
export function openConversation(
  of: PromptOf,
  { lease, redactor, runtime, steering, waiting }: RunAttemptParts,
  options: { readonly endsMessages: boolean; readonly asksPeople: () => boolean },
): AgentConversation {
  const facts = {
    generation: lease.agent_generation,
    state: lease.agent_state,
    loadsSessions: lease.agent_loads_sessions,
    mcp: lease.agent_mcp,
    sessionId: lease.agent_session_id,
    activePrompt: lease.active_prompt,
  }
  const unanswered = new Map(waiting.map(row => [row.journal_offset, agentRequestOf(row).id]))
  return new AgentConversation(of, facts, lease.journal_offset, unanswered, redactor, {
    // Releases of the built-in agent may refuse each other's conversations.
    recapsRefused: runtime.id === NATIVE_RUNTIME,
    repeatsLate: runtime.repeatsLate === true,
    servers: lease.apply?.servers ?? [],
    ...options,
    steering: steering.map(({ id }) => id),
  })
}

import type { DecisionChoice } from '@berth/client'

const choices: readonly { choice: DecisionChoice; label: string; scope: string | null }[] = [
  { choice: 'allow_once', label: 'Allow once', scope: null },
  { choice: 'allow_turn', label: 'Allow for this Turn', scope: 'turn' },
  { choice: 'allow_chat', label: 'Allow for this Session', scope: 'chat' },
  { choice: 'deny', label: 'Deny', scope: null },
]

/** Returns the decisions that a request takes: a wider one only if the agent can remember it. */
export function choicesOf(rememberScopes: readonly string[]): readonly { choice: DecisionChoice; label: string }[] {
  return choices.filter(({ scope }) => scope === null || rememberScopes.includes(scope))
}

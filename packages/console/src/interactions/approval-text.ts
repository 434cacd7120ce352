import type { DecisionChoice, Interaction } from '@berth/client'

type Approval = NonNullable<Interaction['request']['approval']>

/** By the kind of the tool call: a noun for it, and the beginning of a sentence that says what it does. */
const kinds: Readonly<Record<string, readonly [noun: string, does: string]>> = {
  read: ['file read', 'Reads a file'],
  edit: ['edit', 'Changes a file'],
  delete: ['deletion', 'Deletes a file'],
  move: ['move', 'Moves a file'],
  search: ['search', 'Searches'],
  execute: ['command', 'Runs a command'],
  fetch: ['request', 'Sends a request'],
  switch_mode: ['change of mode', 'Changes how the agent works'],
}

/** Agents run in a sandbox, so that is where they act unless they say more. */
const places: Readonly<Record<string, string>> = {
  network: 'in the sandbox, with the network',
  outside: 'outside the sandbox’s confinement',
}

/** True if the platform asks about a connection of a program, and not the agent about a tool. */
export const isConnection = ({ toolName, confinement, destination }: Approval): boolean =>
  toolName === 'network' && confinement === 'network' && destination !== undefined

/** Returns a noun for what an approval allows: `command`. */
export const nounOf = (approval: Approval): string =>
  isConnection(approval) ? 'connection' : (kinds[approval.kind ?? 'other']?.[0] ?? 'action')

/** Returns a sentence that says what the action does and where: `Runs a command in the sandbox`. */
export function deedOf(approval: Approval): string {
  const { kind = 'other', confinement = 'sandbox', destination } = approval
  if (isConnection(approval)) return `Connects a program in the sandbox to ${destination}`
  const where = places[confinement] ?? 'in the sandbox'
  return `${kinds[kind]?.[1] ?? 'Uses a tool'} ${where}${destination === undefined ? '' : `, to ${destination}`}`
}

/** Returns the action itself, none of it cut: a single command as it would be typed, or its named parts. */
export function actionOf({
  input = {},
  title,
  toolName,
}: Approval): readonly (readonly [name: string, text: string])[] {
  const parts = Object.entries(input).map(([name, value]) => [name, textOf(value)] as const)
  if (parts.length === 0) return [['', title ?? toolName]]
  return parts.length === 1 && typeof input['command'] === 'string' ? [['', input['command']]] : parts
}

/** Words keep their line breaks; everything else is JSON. */
const textOf = (value: unknown): string =>
  typeof value === 'string' && value !== '' ? value : JSON.stringify(value, null, 2)

/** A decision as a button and a key. */
export interface Choice {
  readonly choice: DecisionChoice
  readonly label: string
  readonly key: string
}

const choices: readonly (Choice & { readonly scope: string | null })[] = [
  { choice: 'allow_once', label: 'Allow once', key: 'a', scope: null },
  { choice: 'allow_turn', label: 'For this Turn', key: 't', scope: 'turn' },
  { choice: 'allow_chat', label: 'For this Session', key: 's', scope: 'chat' },
  { choice: 'allow_project', label: 'For the environment', key: 'e', scope: 'project' },
  { choice: 'deny', label: 'Deny', key: 'x', scope: null },
]

/** Returns the decisions that a request takes: a wider one only if the agent can remember it. */
export function choicesOf(rememberScopes: readonly string[]): readonly Choice[] {
  return choices.filter(({ scope }) => scope === null || rememberScopes.includes(scope))
}

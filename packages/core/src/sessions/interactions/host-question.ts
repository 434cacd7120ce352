import { isIP } from 'node:net'
import type { Approval } from '@berth/contract'
import type { ApprovalRule } from '@berth/platform/settings/approval-rules.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendEvents } from '../log/append.ts'
import { sessionRedactor } from '../log/session-redactor.ts'
import { findRun } from '../runs/run-sql.ts'
import { isAllowed } from './approval-rules.ts'
import type { HostState } from './host-decision.ts'
import { hostState } from './host-decision.ts'
import { countHostQuestions, destinationOf, findHostFacts, type WantedHost } from './host-sql.ts'
import { interactionEvent } from './interaction.ts'
import { nextOwnOffset, resolveOpen } from './interaction-sql.ts'
import { allowance, openInteraction } from './open-interactions.ts'

/** Hosts of one Run that people are asked about at once, and in all. */
const MOST_OPEN = 8
const MOST_QUESTIONS = 200
/** Characters that are shown of a program's own name for itself. */
const PROGRAM_CHARACTERS = 120

/** A connection to a host that the environment does not name. */
export interface HostQuestion extends WantedHost {
  readonly leaseId: string
  readonly environmentName: string
  readonly runtime: string
  /** How the program names itself, if it does. */
  readonly program?: string | undefined
}

/** By which rules an approval about a host is asked. */
export interface HostAsking {
  /** The operator's rules. */
  readonly rules: readonly ApprovalRule[]
  readonly approvalMs: number
  /** Whether there are people who look after the Run. */
  readonly asksPeople: boolean
}

/** What a connection is answered that nothing has decided about. */
export type HostAnswer = HostState | { readonly kind: 'nobody' | 'crowded' | 'ending' | 'secret' }

/**
 * Asks people whether a program may reach a host, unless that is decided already. The platform asks and not the agent, so the
 * approval is in no journal. A remembered decision or a rule of the operator's answers it without people, which is logged once
 * a Run. The caller has proven its fence under the Session's lock, and wakes whoever waits.
 */
export async function askForHost(
  tx: Queryable,
  question: HostQuestion,
  { rules, approvalMs, asksPeople }: HostAsking,
  now: Date,
): Promise<HostAnswer> {
  const { allowedBy, last } = await findHostFacts(tx, question)
  const state = hostState(allowedBy !== null, last, now)
  if (state.kind !== 'unasked') return state
  const run = await findRun(tx, question, question.runId)
  if (run === null || run.ended_at !== null || run.cancel_requested_at !== null) return { kind: 'ending' }
  // No row may hold a secret as it is, and nobody is to be led to allow one out.
  const redactor = await sessionRedactor(tx, question)
  if (redactor.anyCase(question.host) !== question.host) return { kind: 'secret' }
  const { open, all } = await countHostQuestions(tx, question, question.runId)
  if (open >= MOST_OPEN || all >= MOST_QUESTIONS) return { kind: 'crowded' }
  const { organizationId, sessionId, runId, leaseId, runtime } = question
  const asking = { organizationId, sessionId, runId, leaseId, now, runtime, rules, approvalMs, cancelled: false }
  const destination = destinationOf(question)
  // Its name is masked before it is cut, as anything is that a program says.
  const program = question.program && redactor.text(question.program)
  const ask = { kind: 'approval', approval: approvalOf({ ...question, program }) } as const
  if (!asksPeople && (await allowance(tx, asking, ask, destination)) === null) return { kind: 'nobody' }
  const { environmentId, host } = question
  const agentRequest = { environmentId, host }
  const offset = await nextOwnOffset(tx, leaseId)
  await appendEvents(tx, question, await openInteraction(tx, asking, { offset, ask, agentRequest, destination }), now)
  const facts = await findHostFacts(tx, question)
  return hostState(false, facts.last, now)
}

/** Returns whether a rule of the operator's allows a connection, for work that has no Run to ask in. */
export const isHostAllowedByRule = (rules: readonly ApprovalRule[], question: Omit<HostQuestion, 'runId'>): boolean => {
  const { organizationId, runtime } = question
  return isAllowed(rules, { organizationId, runtime, approval: approvalOf(question) })
}

/**
 * Closes an approval whose host was allowed for the environment elsewhere, if it is still open. The caller holds the Session's
 * lock.
 */
export async function closeAllowedElsewhere(tx: Queryable, wanted: WantedHost, now: Date): Promise<void> {
  const { allowedBy, last } = await findHostFacts(tx, wanted)
  if (allowedBy === null || last?.status !== 'open') return
  const resolved = await resolveOpen(tx, wanted, last.id, { resolution: 'project_allowed', by: allowedBy }, now)
  await appendEvents(tx, wanted, [interactionEvent(resolved)], now)
}

function approvalOf(question: Omit<HostQuestion, 'runId'>): Omit<Approval, 'requestId' | 'runId' | 'deadline'> {
  const { host, port, environmentName } = question
  const program = question.program
    ?.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .trim()
    .slice(0, PROGRAM_CHARACTERS)
  const isNamed = program !== undefined && program !== ''
  // A name with spaces could make a sentence of the title.
  const product = /^[A-Za-z0-9._-]{1,40}/.exec(program ?? '')?.[0]
  // An environment names hosts and no addresses.
  const isName = isIP(host.replace(/^\[(.*)\]$/, '$1')) === 0
  return {
    toolName: 'network',
    title: `${product !== undefined ? `${product} wants to reach` : 'Reach'} ${destinationOf(question)}`,
    input: { host, port, ...(isNamed && { program }) },
    kind: 'fetch',
    reason: `The environment “${environmentName}” asks about hosts that it does not name.`,
    destination: destinationOf(question),
    confinement: 'network',
    rememberScopes: isName ? ['turn', 'chat', 'project'] : ['turn', 'chat'],
  }
}

/** What the platform keeps of an approval about a host, to carry its decision out. */
export const hostOf = (agentRequest: string): { readonly environmentId: string; readonly host: string } =>
  JSON.parse(agentRequest)

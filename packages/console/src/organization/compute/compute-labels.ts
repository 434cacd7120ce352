import type { Compute, OwnHost } from '@berth/contract'
import { clockTime } from '../../ui/format.ts'

const states: Readonly<Record<string, string>> = {
  waiting: 'Has never connected',
  ready: 'Ready',
  resting: 'Gets no sandbox for a while: it failed',
  away: 'Silent for a minute',
  cordoned: 'Gets no more sandboxes',
  draining: 'Gives its sandboxes back',
  drained: 'Empty, and gets no more sandboxes',
  outdated: 'Refused: it is of another release',
}

const restCauses: Readonly<Record<string, string>> = {
  no_answer: 'it did not answer',
  line_cut: 'its connection broke while it made a sandbox',
}

type HostState = Pick<OwnHost, 'state'> & Partial<Pick<OwnHost, 'restsUntil' | 'restsBecause'>>

/** Returns the state of a machine in words. */
export function stateOf({ state, restsUntil, restsBecause }: HostState): string {
  if (state !== 'resting' || !restsUntil) return states[state] ?? state
  const because = restCauses[restsBecause ?? ''] ?? 'it failed'
  return `Gets no sandbox until ${clockTime(restsUntil)}: ${because}`
}

type Order = readonly [label: string, mark: 'open' | 'cordoned' | 'drained']

/** Returns the orders that a machine takes in its state. */
export function ordersOf({ state }: Pick<OwnHost, 'state'>): readonly Order[] {
  const [cordon, drain]: readonly [Order, Order] = [
    ['Cordon', 'cordoned'],
    ['Drain', 'drained'],
  ]
  if (state === 'draining' || state === 'drained') return [['Open', 'open']]
  if (state === 'cordoned') return [['Open', 'open'], drain]
  return state === 'resting' ? [['Use now', 'open'], cordon, drain] : [cordon, drain]
}

/** Returns how a machine does at a glance. */
export const toneOf = ({ state }: Pick<OwnHost, 'state'>): 'good' | 'quiet' | 'bad' =>
  state === 'ready' ? 'good' : state === 'away' || state === 'outdated' || state === 'resting' ? 'bad' : 'quiet'

/** Returns why an organization that runs on its own machines starts nothing, and its next step; null if nothing is in its way. */
export function obstacleOf({ standing, hosts }: Pick<Compute, 'standing' | 'hosts'>): string | null {
  if (standing === 'not_configured') {
    return 'None of your machines has ever connected, so new work is refused. Add one, and start it with its token.'
  }
  if (standing === 'outdated') {
    return "Your machines are of another release, so new work is refused. Install the service's release on them."
  }
  const open = hosts.filter(({ state }) => state === 'ready' || state === 'resting')
  const [soonest] = open.flatMap(({ restsUntil }) => restsUntil ?? []).toSorted()
  if (standing === 'ready' && soonest !== undefined && open.every(({ state }) => state === 'resting')) {
    return `Your machines have failed and rest, so new sandboxes wait until ${clockTime(soonest)}. Look at them, or use one now.`
  }
  return null
}

/** Returns the command that starts a machine. */
export const startOf = (token: string): string => `BERTH_HOST_TOKEN=${token} berth --url <address of the service> host`

/** A typed capacity: null for as many as the machine says. */
export function readCapacity(text: string): { readonly value: number | null } | { readonly fault: string } {
  const trimmed = text.trim()
  if (trimmed === '') return { value: null }
  const value = Number(trimmed)
  if (!/^\d{1,5}$/.test(trimmed) || value < 1 || value > 10_000) {
    return { fault: 'Enter a number from 1 to 10,000, or nothing.' }
  }
  return { value }
}

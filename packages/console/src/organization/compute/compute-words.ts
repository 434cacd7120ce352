import type { Compute, OwnHost } from '@berth/contract'

const states: Readonly<Record<string, string>> = {
  waiting: 'Has never connected',
  ready: 'Ready',
  away: 'Silent for a minute',
  cordoned: 'Gets no more sandboxes',
  draining: 'Gives its sandboxes back',
  drained: 'Empty, and gets no more sandboxes',
  outdated: 'Refused: it is of another release',
}

/** Returns the state of a machine in words. */
export const stateOf = ({ state }: Pick<OwnHost, 'state'>): string => states[state] ?? state

/** Returns how a machine does at a glance. */
export const lookOf = ({ state }: Pick<OwnHost, 'state'>): 'good' | 'quiet' | 'bad' =>
  state === 'ready' ? 'good' : state === 'away' || state === 'outdated' ? 'bad' : 'quiet'

/** Returns the next step of an organization that runs on its own machines; null if there is none. */
export function obstacleOf({ standing }: Pick<Compute, 'standing'>): string | null {
  if (standing === 'not_configured') {
    return 'None of your machines has ever connected, so new work is refused. Admit one, and start it with its token.'
  }
  if (standing === 'outdated') {
    return "Your machines are of another release, so new work is refused. Install the service's release on them."
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

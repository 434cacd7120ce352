import type { PullCheck } from '@berth/contract'
import { printableLine } from '../ui/printable.ts'
import { blockerText } from './delivery-text.ts'

const urgency = ['failure', 'missing', 'pending', 'success', 'skipped']

/** Returns checks with the obstacles to a merge first: required ones, then by state and name. */
export function inOrder(checks: readonly PullCheck[]): PullCheck[] {
  const rank = ({ state, required }: PullCheck) => {
    const at = urgency.indexOf(state)
    return (required ? 0 : urgency.length) + (at === -1 ? urgency.length : at)
  }
  return checks.toSorted((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1))
}

/** Returns where a link leads, with its host; null for everything but http and https. */
export function linkOf(url: string | undefined): { readonly href: string; readonly host: string } | null {
  const parsed = url === undefined ? null : URL.parse(url)
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? { href: parsed.href, host: parsed.host } : null
}

/** Returns the conditions that a merge waits for: the required checks by name, and other obstacles. */
export function waitsFor(checks: readonly PullCheck[], blockers: readonly string[]): string[] {
  const open = inOrder(checks).filter(({ required, state }) => required && state !== 'success' && state !== 'skipped')
  const named = open.length > 0
  // A host that only says `rules` means the same checks.
  const others = blockers.filter(blocker => !(named && (blocker === 'checks' || blocker === 'rules')))
  return [
    ...(named ? [`Waits for ${open.map(({ name }) => printableLine(name)).join(', ')}.`] : []),
    ...others.map(blockerText),
  ]
}

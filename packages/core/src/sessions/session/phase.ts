import type { Run, Session } from '@berth/contract'

/** Statuses of a Run; the first four are not terminal. */
export type RunStatus = Run['status']

/** Returns a Session's `phase`. A queued Run waits while a worker seals the Run before it (docs/concepts.md, Sessions). */
export function phaseOf(active: RunStatus | null, finalizing: boolean): Session['phase'] {
  switch (active) {
    case 'queued':
      return finalizing ? 'finalizing' : 'queued'
    case 'dispatching':
      return 'provisioning'
    case 'running':
      return 'running'
    case 'awaiting':
      return 'awaiting'
    default:
      return finalizing ? 'finalizing' : 'idle'
  }
}

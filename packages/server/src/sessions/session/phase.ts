import type { Run, Session } from '@berth/contract'

/** Statuses of a Run (completions, Turn and Run). The first four are not terminal. */
export type RunStatus = Run['status']

/** `phase` of a Session by its active Run (completions, Session). A Run that follows waits for the sealing before it. */
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

import { statusLabel } from '@berth/client'
import type { SessionStatus } from '@berth/contract'

const styles: Readonly<Record<SessionStatus, string>> = {
  needs_you: 'bg-dot-attention',
  working: 'bg-dot-active breathing',
  failed: 'bg-bad',
  ready_to_review: 'bg-dot-good',
  pull_request_open: 'border-2 border-dot-good',
  merged: 'bg-dot-quiet',
  stopped: 'border-2 border-dot-quiet',
  done: 'bg-dot-quiet',
}

/** The status of a Session as a dot. The words are read out; a dot alone is never the only sign. */
export function StatusDot({ status }: { status: string }) {
  const label = statusLabel(status)
  return (
    <span className={`dot ${styles[status as SessionStatus] ?? styles.done}`} title={label}>
      <span className="sr-only">{label}: </span>
    </span>
  )
}

import type { SessionState } from '../session/session-state.ts'

const tones: Readonly<Record<SessionState['tone'], string>> = {
  attention: 'bg-dot-attention',
  active: 'bg-dot-active breathing',
  quiet: 'bg-dot-quiet',
  bad: 'bg-bad',
}

/** The state of a Session as a dot. The label is read out; a dot alone is never the only sign. */
export function StatusDot({ state }: { state: SessionState }) {
  return (
    <span className={`dot ${tones[state.tone]}`} title={state.label}>
      <span className="sr-only">{state.label}: </span>
    </span>
  )
}

import type { Event } from '../generated/types.ts'
import { numberOf, textOf } from './data.ts'
import { formatDuration } from './format.ts'

const causes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    setup_timeout: 'the setup script ran longer than the service allows (BERTH_SETUP_SECONDS)',
    repository_clone_failed: 'a repository could not be cloned',
    secret_unavailable: 'the service cannot open a secret: write it again with `berth env secrets set`',
    apply_failed: 'the service could not apply it; its log says why',
    workspace_lost: 'the sandbox was lost',
    cancelled: 'the run was cancelled',
    session_archived: 'the session was archived',
  }),
)

/** Returns how the apply of an environment ended, and why if it failed. */
export function applyOutcome(event: Pick<Event, 'data'>): string {
  const durationMs = numberOf(event, 'durationMs')
  const time = durationMs === null ? '' : ` in ${formatDuration(durationMs)}`
  if (textOf(event, 'status') === 'succeeded') return `succeeded${time}`
  const code = textOf(event, 'errorCode')
  const exit = numberOf(event, 'setupExitCode')
  const cause =
    code === 'setup_exit_nonzero' ? `the setup script ended with exit code ${exit ?? '?'}` : causes.get(code)
  return `failed${time}: ${cause === undefined ? code || 'unknown error' : `${cause} (${code})`}`
}

import type { Session } from './generated/types.ts'

/** Returns a status in words for people: `ready_to_review` is `Ready to review`. */
export const statusLabel = (status: Session['status']): string => {
  const text = status.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Returns in a few words why a Session failed or was stopped; '' if there is nothing to say. */
export const statusReason = ({ status, lastRun }: Pick<Session, 'status' | 'lastRun'>): string =>
  status === 'failed' || status === 'stopped' ? reasonLabel(lastRun ?? {}) : ''

/** Returns the size of changes in words, `4 files +66 −0`; '' if nothing has changed. */
export function changesLabel(changes: Omit<NonNullable<Session['changes']>, 'revision'> | null | undefined): string {
  if (!changes || changes.files === 0) return ''
  const { files, additions, deletions } = changes
  const count = (n: number) => n.toLocaleString('en')
  return `${count(files)} ${files === 1 ? 'file' : 'files'} +${count(additions)} −${count(deletions)}`
}

const reasons: Readonly<Record<string, string>> = {
  environment_setup_failed: 'the setup script of the environment failed',
  turn_execution_lost: 'the agent was lost and could not be recovered',
  resume_unavailable: 'the saved work could not be restored',
  bring_failed: 'the commits that it needs could not be brought into the workspace',
  push_conflict: 'somebody else pushed commits that conflict with the work',
  authority_revoked_dispatch: 'whoever asked may no longer use Berth',
  authority_revoked: 'whoever asked may no longer use Berth',
  shell_exit_nonzero: 'the script exited with an error',
  event_budget: 'it wrote more than a Run may',
  output_invalid: 'it gave no result of the form that was asked for',
  model_not_configured: 'no provider serves the model',
  model_rate_limited: 'the model provider refused more: its rate or quota is used up',
  model_unavailable: 'the model provider is down',
  model_credential_refused: 'the model provider refused its key',
  model_response_invalid: 'the model answered with something unreadable',
  model_request_refused: 'the model provider refused the request',
  model_context_exceeded: 'the conversation no longer fits the model',
  max_response: 'the answer reached its limit',
  cost_budget: 'it reached its budget',
  cost_unknown: 'its cost is unknown, and it has a budget',
  time_budget: 'it reached its time limit',
  repeated_tool_failure: 'the same tool failed again and again',
  engine_unreachable: 'the agent stopped answering',
  execution_deadline: 'it reached its time limit',
}

/** Returns in a few words why a Run did not finish; '' if it did, or if somebody stopped it. */
export function reasonLabel(run: {
  readonly errorCode?: string | null | undefined
  readonly stopReason?: string | null | undefined
  readonly turns?: number | null | undefined
}): string {
  const code = run.errorCode ?? run.stopReason ?? 'completed'
  if (code === 'max_turns' || code === 'turn_budget')
    return `it reached its limit of ${run.turns ? `${run.turns} ` : ''}steps`
  return code === 'completed' || code === 'aborted' ? '' : (reasons[code] ?? code.replaceAll('_', ' '))
}

/** How hard a model may think. */
export const efforts = ['minimal', 'low', 'medium', 'high', 'max'] as const
export type Effort = (typeof efforts)[number]

import type { EndRow } from '@berth/client/transcript'
import { formatDuration } from '@berth/client/transcript'
import { dollars } from '../ui/format.ts'

const reasons: Readonly<Record<string, string>> = {
  environment_setup_failed: 'the setup script of the environment failed',
  turn_execution_lost: 'the agent was lost and could not be recovered',
  resume_unavailable: 'the saved work could not be restored',
  authority_revoked_dispatch: 'whoever asked may no longer use Berth',
  authority_revoked: 'whoever asked may no longer use Berth',
  shell_exit_nonzero: 'the script exited with an error',
  event_budget: 'it wrote more than a Run may',
  output_invalid: 'it gave no result of the form that was asked for',
  model_not_configured: 'no provider serves the model',
  model_rate_limited: 'the model provider limits the rate',
  model_unavailable: 'the model provider cannot be reached',
  model_credential_refused: 'the model provider refused its key',
  model_response_invalid: 'the model answered with something unreadable',
  model_request_refused: 'the model provider refused the request',
  model_context_exceeded: 'the conversation no longer fits the model',
  max_turns: 'it reached its limit of steps',
  max_response: 'the answer reached its limit',
  cost_budget: 'it reached its budget',
  cost_unknown: 'its cost is unknown, and it has a budget',
  turn_budget: 'it reached its limit of steps',
  time_budget: 'it reached its time limit',
  repeated_tool_failure: 'the same tool failed again and again',
  engine_unreachable: 'the agent stopped answering',
  execution_deadline: 'it reached its time limit',
}

const verbs: Readonly<Record<EndRow['outcome'], string>> = {
  completed: 'Finished',
  failed: 'Failed',
  cancelled: 'Stopped',
  crashed: 'Crashed',
}

/** Says in one line how a Run ended. */
export function outcomeText({
  outcome,
  errorCode,
  stopReason,
}: Pick<EndRow, 'outcome' | 'errorCode' | 'stopReason'>): string {
  const code = errorCode ?? (stopReason === 'completed' || stopReason === 'aborted' ? null : stopReason)
  const why = code === null ? '' : (reasons[code] ?? code.replaceAll('_', ' '))
  return why === '' ? verbs[outcome] : `${verbs[outcome]}: ${why}`
}

/** Returns a Run's duration and cost; '' if neither is known. */
export function figuresText({
  durationMs,
  costUsd,
  costComplete,
}: Pick<EndRow, 'durationMs' | 'costUsd' | 'costComplete'>): string {
  const cost = costUsd === null ? null : `${costComplete ? '' : 'at least '}${dollars(costUsd)}`
  return [durationMs === null ? null : formatDuration(durationMs), cost].filter(part => part !== null).join(' · ')
}

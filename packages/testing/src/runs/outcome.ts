import type { ErrorBody } from '@berth/contract'
import type { Answer } from '../api/api.ts'

/** Formats an answer as one line for comparison: `409 cloud_turn_conflict`, or only the status of a success. */
export function outcome({ status, body }: Answer): string {
  return typeof body.error === 'string' ? `${status} ${body.error}` : String(status)
}

/** Counts each outcome. */
export function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const answer of answers) counts[outcome(answer)] = (counts[outcome(answer)] ?? 0) + 1
  return counts
}

/** Formats the outcome with the dotted path of each field that the refusal names, once each. */
export function refusedFields(answer: Answer): string {
  const { issues = [] } = answer.body as Partial<ErrorBody>
  return [outcome(answer), ...new Set(issues.map(issue => issue.path.join('.')))].join(' ')
}

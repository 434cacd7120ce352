import type { ErrorBody } from '@berth/contract'
import type { Answer } from '../api/api.ts'

/** An answer in one line, to compare: `409 cloud_turn_conflict`, or the status alone of a success. */
export function outcome({ status, body }: Answer): string {
  return typeof body.error === 'string' ? `${status} ${body.error}` : String(status)
}

/** How often each outcome came. */
export function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const answer of answers) counts[outcome(answer)] = (counts[outcome(answer)] ?? 0) + 1
  return counts
}

/** The outcome with the paths of the fields that a refusal names, each once, in dots. */
export function refusedFields(answer: Answer): string {
  const { issues = [] } = answer.body as Partial<ErrorBody>
  return [outcome(answer), ...new Set(issues.map(issue => issue.path.join('.')))].join(' ')
}

import type { CheckResult, Review, Verification } from '@berth/client'
import { counted } from '../ui/format.ts'
import type { CheckOutcome } from './outcome.ts'

/** Returns the first digits of a revision, as every page names it. */
export const shortRevision = (revision: string): string => revision.slice(0, 12)

/** Returns how the checks of a verification went, in a few words. */
export function countsText(verification: Verification): string {
  const { checks, counts, state } = verification
  if (state === 'queued') return 'Waits for a sandbox'
  if (state === 'running') {
    const ended = counts.passed + counts.failed + counts.skipped
    const running = checks.find(check => check.state === 'running')
    return running === undefined && ended === 0 ? 'Setting up a sandbox' : `${ended} of ${checks.length} checks done`
  }
  if (state === 'errored') return 'Could not be run'
  if (state === 'cancelled') return 'Cancelled'
  const skipped = counts.skipped === 0 ? '' : `, ${counts.skipped} left out`
  return `${counts.passed} of ${counts.passed + counts.failed} checks passed${skipped}`
}

/** Says whether the checks ran on the changes on screen. */
export function outcomeText(
  { kind, by }: CheckOutcome,
  { revision }: Pick<Review, 'revision'>,
  environment: { readonly name: string; readonly revision: number } | null,
): string {
  const name = environment === null ? 'the environment' : environment.name
  const at = by === null ? '' : `revision ${by.environment.revision} of ${name}`
  switch (kind) {
    case 'passed':
      return `What would be published is what was checked: revision ${shortRevision(revision)}, by ${at}.`
    case 'failed':
      return `${failedText(by?.checks ?? [])} on exactly what would be published: revision ${shortRevision(revision)}, by ${at}.`
    case 'open':
      return `Exactly what would be published is being checked: revision ${shortRevision(revision)}, in a sandbox that no agent has touched.`
    case 'outdated':
      return `Revision ${shortRevision(revision)} was checked by ${at}. The checks may have changed since, so the result does not count.`
    case 'errored':
      return 'The checks could not be run, which says nothing of the change.'
    case 'cancelled':
      return 'The checks were stopped before they ended.'
    case 'other':
      return `What was checked is not what would be published: the changes have moved on since revision ${shortRevision(by?.revision ?? '')}.`
    case 'none':
      return `The checks of ${name} run on exactly this revision, in a fresh sandbox that no agent has touched.`
  }
}

function failedText(checks: readonly CheckResult[]): string {
  const failed = checks.filter(({ state, required }) => required && state === 'failed')
  return failed.length === 0 ? 'A required check failed' : `${counted(failed.length, 'required check')} failed`
}

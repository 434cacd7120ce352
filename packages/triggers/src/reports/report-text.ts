import { cutText } from '@berth/core/sessions/log/bounded-text.ts'
import type { ReportedRun } from './report-sql.ts'

/** GitHub takes 65,536 characters; the lines around the text need some. */
const TEXT_BYTES = 60_000

/** How a report speaks of a Run. */
export interface ReportText {
  readonly title: string
  /** Markdown. */
  readonly summary: string
  readonly conclusion: 'success' | 'failure' | 'cancelled' | null
}

const ends: Readonly<Record<string, Pick<ReportText, 'title' | 'conclusion'>>> = {
  completed: { title: 'Berth has finished', conclusion: 'success' },
  cancelled: { title: 'Berth was stopped', conclusion: 'cancelled' },
}

/** Returns the words of a report on a Run. */
export function reportText(run: ReportedRun, sessionUrl: string): ReportText {
  const session = `[Session](${sessionUrl})`
  if (run.status === 'awaiting') {
    return { title: 'Berth has a question', conclusion: null, summary: `It goes on once it is answered: ${session}` }
  }
  if (run.ended_at === null) return { title: 'Berth is at work', conclusion: null, summary: session }
  const failed = { title: `Berth has failed: \`${run.error_code ?? run.status}\``, conclusion: 'failure' } as const
  const { title, conclusion } = ends[run.status] ?? failed
  const pull = run.pull_url === null ? [] : [`[Pull request #${run.pull_number}](${run.pull_url})`]
  const parts = [cutText(run.summary ?? '', TEXT_BYTES).text, changesText(run), [session, ...pull].join(' · ')]
  return { title, conclusion, summary: parts.filter(part => part !== '').join('\n\n') }
}

/** Returns what a report says of the changes that the trigger itself publishes; '' for the others. */
function changesText({ status, deliver_state, deliver_error, failed_checks, pushed }: ReportedRun): string {
  if (status !== 'completed') return ''
  switch (deliver_state) {
    case 'waiting':
    case 'publishing':
      return 'Its changes are being published.'
    case 'verifying':
      return 'Its changes are being verified.'
    case 'unchanged':
      return 'There is nothing to publish: it changed no file.'
    case 'failed':
      return `Its changes were not published: \`${deliver_error ?? 'internal_error'}\`${failedChecks(failed_checks)}.`
    default:
      return pushed === null ? '' : `Pushed to \`${pushed.branch}\` as ${pushed.commitSha}.`
  }
}

const failedChecks = (names: readonly string[]): string =>
  names.length === 0 ? '' : ` (${names.map(name => `\`${name.replaceAll('`', "'")}\``).join(', ')})`

/** Returns the text that a comment begins with, by which a later try finds it. */
export const markerOf = (reportId: string): string => `<!-- berth:report ${reportId} -->`

/** Returns the comment of a report. */
export const commentOf = (reportId: string, { title, summary }: ReportText): string =>
  `${markerOf(reportId)}\n**${title}**\n\n${summary}`

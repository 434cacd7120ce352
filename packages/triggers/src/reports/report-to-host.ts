import { GitHostError, type HostTalk, type RepositoryRef } from '@berth/core/git-hosts/git-host.ts'
import { ownCheckId } from '@berth/core/git-hosts/own-check.ts'
import { hostRefusalCode } from '@berth/core/repositories/host-refusal.ts'
import { derivedId } from '../derived-id.ts'
import type { DueReport, ReportedRun, ReportRow } from './report-sql.ts'
import { commentOf, markerOf, type ReportText, reportText } from './report-text.ts'

/** Name of the check runs. */
const CHECK_NAME = 'Berth'
/** The host's clock may be behind ours by so much. */
const SKEW_MS = 3_600_000

/** A report, and where it is told. */
export interface HostReport {
  readonly due: DueReport
  readonly run: ReportedRun
  readonly talk: HostTalk
  readonly repository: RepositoryRef
  readonly sessionUrl: string
}

/** The outcome of telling a host. */
export interface Reported {
  readonly written: Partial<ReportRow>
  /** The host could not be asked for a part of it; null: nothing is left. */
  readonly later: GitHostError | null
}

/**
 * Tells the host how the Run of a report stands: its check run, and its one comment, which is edited as it goes on. A try before may
 * have written either without a record of it, so each is looked for before it is made. A part that the host refuses for
 * good is given up, and the other one is still told.
 */
export async function reportToHost(report: HostReport, signal: AbortSignal): Promise<Reported> {
  const { due, run, sessionUrl } = report
  const text = reportText(run, sessionUrl)
  // Only the comment changes once a report has told the end, unless the trigger publishes.
  const hasCheck =
    due.head_oid !== null && due.check_error === null && (due.reported !== 'ended' || run.deliver_state !== null)
  const check = hasCheck ? await reportCheck(report, text, signal) : {}
  const hasComment = due.event.number !== null && due.comment_error === null
  const comment = hasComment ? await reportComment(report, text, signal) : {}
  const { later: first = null, ...ofCheck } = check
  const { later: second = null, ...ofComment } = comment
  return { written: { ...ofCheck, ...ofComment }, later: longer(first, second) }
}

type Part = Partial<ReportRow> & { readonly later?: GitHostError }

function reportCheck(
  { due, talk, repository, sessionUrl }: HostReport,
  text: ReportText,
  signal: AbortSignal,
): Promise<Part> {
  const check = {
    headOid: due.head_oid ?? '',
    name: CHECK_NAME,
    externalId: ownCheckId('report', idOf(due)),
    url: sessionUrl,
    ...text,
  }
  return part('check_error', async () => {
    const found = due.check_id ?? (await talk.findOwnCheck(repository, check, signal))
    if (found === null) return { check_id: await talk.addCheck(repository, check, signal) }
    await talk.editCheck(repository, found, check, signal)
    return { check_id: found }
  })
}

function reportComment({ due, talk, repository }: HostReport, text: ReportText, signal: AbortSignal): Promise<Part> {
  const id = idOf(due)
  const body = commentOf(id, text)
  const number = due.event.number ?? 0
  return part('comment_error', async () => {
    const since = new Date(due.created_at.getTime() - SKEW_MS)
    const known = due.comment_id ?? (await talk.findOwnComment(repository, { number, since }, markerOf(id), signal))?.id
    const { id: comment_id, url: comment_url } =
      known === undefined
        ? await talk.addComment(repository, number, body, signal)
        : await talk.editComment(repository, known, body, signal)
    return { comment_id, comment_url }
  })
}

async function part(column: 'check_error' | 'comment_error', work: () => Promise<Part>): Promise<Part> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof GitHostError)) throw error
    return error.passing ? { later: error } : { [column]: hostRefusalCode(error) }
  }
}

function longer(one: GitHostError | null, other: GitHostError | null): GitHostError | null {
  if (one === null || other === null) return one ?? other
  return (one.retryAfterMs ?? 0) > (other.retryAfterMs ?? 0) ? one : other
}

const idOf = ({ trigger_id, key }: DueReport): string => derivedId('report', trigger_id, key)

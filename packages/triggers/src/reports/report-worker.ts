import type { Context } from '@berth/core/context.ts'
import { findGrantOf } from '@berth/core/repositories/grant-sql.ts'
import { hostRefusalCode } from '@berth/core/repositories/host-refusal.ts'
import { Underway } from '@berth/platform/kit/underway.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { WokenService } from '@berth/platform/storage/postgres/woken-service.ts'
import { readPrincipal } from '../installation-sql.ts'
import { pauseAfter } from '../pause-after.ts'
import {
  claimReport,
  type DueReport,
  type ReportedRun,
  type ReportRow,
  readReportedRun,
  releaseReport,
} from './report-sql.ts'
import { type HostReport, reportToHost } from './report-to-host.ts'

const SWEEP_MS = 1_000
/** Between two looks for pull requests that were published after the end of a Run. */
const PUBLICATIONS_MS = 15_000
const MAX_CONCURRENT = 8
/** Those of one organization, whose Git host may be slow. */
const OF_ORGANIZATION_AT_ONCE = 2
/** A report whose worker has died is told again after this time. */
const CLAIMED_MS = 60_000
/** Longest that a host may take over a report, which is less. */
const HOST_MS = 45_000
/** After so many failures, which take a day, a report is given up. */
const FAILURES_MOST = 150

type Parts = Pick<Context, 'db' | 'clock' | 'wakeups' | 'log' | 'gitHosts' | 'consoleUrl'>

/**
 * Tells GitHub of the Turns that its events made. It runs in every process that answers the API; claims share the reports
 * among them.
 */
export class ReportWorker extends WokenService {
  override readonly name = 'report-worker'
  readonly #context: Parts
  readonly #underway = new Underway({ most: MAX_CONCURRENT, ofOwner: OF_ORGANIZATION_AT_ONCE })
  #publicationsAt = 0

  constructor(context: Parts) {
    super(context.wakeups, [topics.triggers], SWEEP_MS)
    this.#context = context
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]()
    await this.settled()
  }

  /** Begins to tell the reports that are due, as far as there is room: one host that is slow delays no other's. */
  async round(): Promise<void> {
    const { db, clock } = this.#context
    const now = clock.now()
    const withPublications = now.getTime() - this.#publicationsAt >= PUBLICATIONS_MS
    if (withPublications) this.#publicationsAt = now.getTime()
    const by = { now, until: new Date(now.getTime() + CLAIMED_MS) }
    while (this.#underway.room > 0) {
      const due = await claimReport(db, by, { withPublications, except: this.#underway.full })
      if (due === null) return
      const work = this.#report(due).catch(error => this.failed(error))
      this.#underway.add(due.organization_id, work)
      void work.then(() => this.wakeAgain())
    }
  }

  /** Resolves when every report that was begun has been told, or is to be told later. */
  settled(): Promise<void> {
    return this.#underway.settled()
  }

  protected failed(error: unknown): void {
    logFailure(this.#context.log, error, {
      waiting: 'the database is away; GitHub is told once it is back',
      failed: 'could not tell GitHub of a Turn; it is tried again once the claim has lapsed',
    })
  }

  async #report(due: DueReport): Promise<void> {
    const { db, clock } = this.#context
    const run = await readReportedRun(db, due)
    if (run === null) return this.#close(due, {})
    const place = await this.#placeOf(due)
    if (typeof place === 'string') return this.#close(due, { comment_error: place, check_error: place })
    const { written, later } = await reportToHost({ ...place, due, run }, AbortSignal.timeout(HOST_MS))
    const now = clock.now()
    if (later !== null && due.failures < FAILURES_MOST) {
      const pauseMs = Math.max(later.retryAfterMs ?? 0, pauseAfter(due.failures + 1))
      const due_at = new Date(now.getTime() + pauseMs)
      return void (await releaseReport(db, due, { ...written, failures: due.failures + 1, due_at }))
    }
    const code = later === null ? null : hostRefusalCode(later)
    const all = { ...written, ...(code !== null && { comment_error: code, check_error: code }) }
    const reported = progressOf(run)
    if (isOver({ ...due, ...all }, run)) return this.#close(due, { ...all, reported })
    await releaseReport(db, due, { ...all, reported, failures: 0, due_at: now })
  }

  async #close(due: DueReport, columns: Partial<ReportRow>): Promise<void> {
    const { db, clock } = this.#context
    await releaseReport(db, due, { ...columns, ended_at: clock.now() })
  }

  /** Returns where a report is told, or the code that says why it cannot be. */
  async #placeOf(due: DueReport): Promise<Omit<HostReport, 'due' | 'run'> | string> {
    const { db, gitHosts, consoleUrl } = this.#context
    const grantee = { organizationId: due.organization_id, installationId: due.installation_id }
    if ((await readPrincipal(db, grantee)) === null) return 'authority_revoked'
    const grant = await findGrantOf(db, grantee, due.event)
    const talk = grant === null ? undefined : gitHosts.find(grant.host)?.talk
    if (grant === null || talk === undefined) return 'cloud_repository_grant_required'
    const repository = { account: grant.account, repositoryId: grant.repository_id }
    return { talk, repository, sessionUrl: `${consoleUrl}/sessions/${due.session_id}` }
  }
}

/** Returns how much the host knows of a Run once it is told. */
function progressOf(run: ReportedRun): ReportRow['reported'] {
  if (run.ended_at === null) return run.status === 'awaiting' ? 'asking' : 'begun'
  return isDelivered(run) ? 'delivered' : 'ended'
}

const isDelivered = ({ deliver_state: state }: ReportedRun): boolean =>
  state === 'published' || state === 'unchanged' || state === 'failed'

/** Returns whether the report is over: all of it was told, the pull request included, or the host refused it. */
function isOver(report: DueReport, run: ReportedRun): boolean {
  const noComment = report.event.number === null || report.comment_error !== null
  const noCheck = report.head_oid === null || report.check_error !== null
  if (run.ended_at === null) return noComment && noCheck
  if (run.deliver_state !== null) return noComment || isDelivered(run)
  // A second look at an ended Run is for its pull request, or after a week without one. The next Turn's report has it.
  return noComment || run.pull_url !== null || run.has_next || report.reported === 'ended'
}

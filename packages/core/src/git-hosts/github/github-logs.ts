import { stripVTControlCharacters } from 'node:util'
import { GitHostError, type RepositoryRef } from '../git-host.ts'
import type { FollowedCheck } from '../host-following.ts'
import { endOf, tailOf } from '../log-tail.ts'
import type { GitHubCalls } from './github-calls.ts'
import type { CheckRun } from './github-checks.ts'

/** Reads what lies at a URL, without a credential. */
export type ReadUrl = (url: string, signal: AbortSignal) => AsyncIterable<Uint8Array>

/**
 * Returns a reader of logs: those of the server itself are read from it, and others by `elsewhere`. No credential of this
 * deployment goes to either, because a log's URL is its own.
 */
export function readUrlOf(webUrl: string, elsewhere?: ReadUrl): ReadUrl {
  const { origin } = new URL(webUrl)
  return (url, signal) => {
    if (URL.parse(url)?.origin === origin) return readAt(url, signal)
    if (elsewhere === undefined) throw new GitHostError('forbidden', 'the log lies on another host')
    return elsewhere(url, signal)
  }
}

async function* readAt(url: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const { ok, body } = await fetch(url, { signal, redirect: 'error' })
  if (!ok || body === null) throw new GitHostError('unavailable', 'the log could not be read')
  yield* body
}

interface Annotation {
  readonly path: string
  readonly start_line: number
  readonly annotation_level: string
  readonly message: string
}

type ReportedRun = CheckRun & { readonly output?: { readonly text?: string | null } | null }

/** Longest that a log may take, in milliseconds. */
const LOG_MS = 60_000
const ANNOTATIONS = 50
/** The time before each line of a job's log. */
const stamp = /^\d{4}-\d\d-\d\dT[\d:.]+Z /gm

/** Returns the end of what a check printed: the log of its job of GitHub Actions, else the output and annotations of its run. */
export async function readCheckLog(
  calls: GitHubCalls,
  readUrl: ReadUrl,
  { account, repositoryId }: RepositoryRef,
  { check, mostBytes }: { readonly check: Pick<FollowedCheck, 'id' | 'summary'>; readonly mostBytes: number },
  signal?: AbortSignal,
): Promise<string> {
  const at = `GET /repositories/${repositoryId}`
  const [, id] = /^run:(\d{1,18})$/.exec(check.id ?? '') ?? []
  const run =
    id === undefined ? null : await ifThere(calls.call<ReportedRun>(account, `${at}/check-runs/${id}`, {}, signal))
  if (run === null) return endOf(check.summary ?? '', mostBytes)
  const log = run.app?.slug === 'github-actions' ? await readJobLog() : null
  if (log !== null && log !== '') return endOf(log, mostBytes)
  const query = { per_page: ANNOTATIONS }
  const annotations = await ifThere(
    calls.call<Annotation[]>(account, `${at}/check-runs/${id}/annotations`, query, signal),
  )
  const { title, summary, text } = { title: null, summary: null, text: null, ...run.output }
  const lines = (annotations ?? []).map(
    ({ path, start_line: line, annotation_level: level, message }) => `${path}:${line}: ${level}: ${message}`,
  )
  return endOf([title, summary, text, lines.join('\n')].filter(part => part).join('\n\n'), mostBytes)

  /** Returns null if the log is gone, or the App may not read it. */
  async function readJobLog(): Promise<string | null> {
    const url = await ifThere(calls.readRedirect(account, `${at}/actions/jobs/${id}/logs`, signal))
    if (url === null) return null
    const bounded = AbortSignal.any([AbortSignal.timeout(LOG_MS), ...(signal === undefined ? [] : [signal])])
    try {
      // Without the times the text is shorter, so more of it is kept.
      const text = await tailOf(readUrl(url, bounded), 2 * mostBytes)
      return stripVTControlCharacters(text.replaceAll(stamp, ''))
    } catch {
      signal?.throwIfAborted()
      return null
    }
  }
}

/** Waits for an answer; null if the host refuses it for good. */
async function ifThere<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if (error instanceof GitHostError && !error.passing && error.kind !== 'unauthorized') return null
    throw error
  }
}

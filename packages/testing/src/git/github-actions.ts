import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pageOf, type ServedAnswer, type ServedCall } from './github-pages.ts'

interface Annotation {
  readonly path: string
  readonly start_line: number
  readonly annotation_level: string
  readonly message: string
}

/** How a job ends, and what it leaves. */
export interface JobEnd {
  readonly conclusion: string | null
  readonly log?: string | null
  readonly output?: { readonly title: string; readonly summary: string; readonly text?: string } | null
  readonly annotations?: readonly Annotation[]
}

interface Job extends JobEnd {
  readonly id: number
  readonly repository: number
  readonly headOid: string
  readonly name: string
  readonly app: { readonly id: number; readonly slug: string }
  readonly externalId: string | null
}

/** GitHub Actions of a test's GitHub: check runs of single commits, with their logs on a host of their own. */
export class GitHubActions implements AsyncDisposable {
  /** Check runs of commits, oldest first. A test that adds none leaves all commits to `GitHubChecks`. */
  readonly jobs: Job[] = []
  /** The logs lie on another host, as on github.com; else on the server itself. */
  elsewhere = false
  /** The credentials with which logs were asked for. */
  readonly logCredentials: (string | null)[] = []
  readonly #server = createServer((request, response) => {
    const log = this.readLog(request.url ?? '', request.headers.authorization ?? null)
    response.writeHead(log === null ? 404 : 200, { 'content-type': 'text/plain' }).end(log ?? '')
  })
  #ids = 90_000

  async listen(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
  }

  /** Begins a check of a commit; without an end it goes on. */
  run(
    repository: number,
    headOid: string,
    name: string,
    end: Partial<JobEnd> & { readonly app?: Job['app']; readonly externalId?: string } = {},
  ): Job {
    const { app = { id: 15368, slug: 'github-actions' }, externalId = null, ...rest } = end
    const made = { conclusion: null, ...rest, id: this.#ids++, repository, headOid, name, app, externalId }
    this.jobs.push(made)
    return made
  }

  finish(job: Pick<Job, 'id'>, end: JobEnd): void {
    const at = this.jobs.findIndex(({ id }) => id === job.id)
    const found = this.jobs[at]
    if (found !== undefined) this.jobs[at] = { ...found, ...end }
  }

  /** Returns the log at a path; null if there is none. */
  readLog(path: string, credential: string | null): string | null {
    const [, id] = path.match(/^\/logs\/(\d+)\?signature=s$/) ?? []
    this.logCredentials.push(credential)
    return this.jobs.find(job => job.id === Number(id))?.log ?? null
  }

  /** Answers a request; null: it is about something else. */
  answer({ method, repository, rest, query }: ServedCall, serverUrl: string): ServedAnswer | null {
    if (method !== 'GET' || this.jobs.length === 0) return null
    const of = (id: string | undefined) => this.jobs.find(job => job.repository === repository && job.id === Number(id))
    const [, sha] = rest.match(/^commits\/([0-9a-f]{40})\/check-runs$/) ?? []
    if (sha !== undefined && !query.has('app_id')) {
      const runs = this.jobs.filter(job => job.repository === repository && job.headOid === sha)
      return pageOf(runs.map(shown), query, rest, check_runs => ({ total_count: runs.length, check_runs }))
    }
    const [, run, annotations] = rest.match(/^check-runs\/(\d+)(\/annotations)?$/) ?? []
    const found = of(run)
    if (found !== undefined) return { status: 200, body: annotations ? (found.annotations ?? []) : shown(found) }
    const [, job] = rest.match(/^actions\/jobs\/(\d+)\/logs$/) ?? []
    if (job === undefined) return null
    if (!of(job)?.log) return { status: 404, body: { message: 'Not Found' } }
    const host = this.elsewhere ? `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}` : serverUrl
    return { status: 302, body: {}, headers: { location: `${host}/logs/${job}?signature=s` } }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }
}

const shown = ({ id, headOid, name, conclusion, output, app, externalId }: Job) => ({
  ...{ id, head_sha: headOid, name, conclusion, app, external_id: externalId },
  status: conclusion === null ? 'in_progress' : 'completed',
  completed_at: conclusion === null ? null : '2026-11-29T12:00:00Z',
  details_url: null,
  html_url: `https://github.example/runs/${id}`,
  output: { title: null, summary: null, text: null, ...output },
})

import { randomUUID } from 'node:crypto'
import type { Publication } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { Delivering } from '@berth/testing/git/delivering.ts'
import type { Fault, GitHubServer } from '@berth/testing/git/github-server.ts'
import { tipOf } from '@berth/testing/git/repositories.ts'
import { changeAtGitHub, type ReviewedChange } from '@berth/testing/git/reviewed-change.ts'
import { type TestService, workerVariables } from '@berth/testing/services/service.ts'
import { startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repositorySources } from '../../src/delivery/repository-sources.ts'
import type { WorkQueue } from '../../src/delivery/work-queue.ts'
import { gitText, runGit } from '../../src/git/run-git.ts'
import { GitHosts } from '../../src/git-hosts/git-hosts.ts'
import { GitHubHost } from '../../src/git-hosts/github/github-host.ts'
import { mergeQueue } from '../../src/sessions/merges/merge-queue.ts'
import { publicationQueue } from '../../src/sessions/publications/publication-queue.ts'

const stack = new AsyncDisposableStack()
let test: TestService
let server: GitHubServer
let context: ReviewedChange['context']
let at: Delivering
let gitDir = ''
let revision = ''
beforeAll(async () => {
  const change = await changeAtGitHub(stack)
  ;({ at, context, gitDir, server, test } = change)
  revision = change.review.revision
})
afterAll(() => stack.disposeAsync())

/** A worker without cached tokens, which does the due work when the test says so. */
class HandWorker implements Disposable {
  readonly #host: GitHubHost
  readonly #table: 'publications' | 'merges'

  /**
   * Makes the worker.
   * @param callMs longest wait for an answer of the host
   */
  constructor(table: 'publications' | 'merges', callMs?: number) {
    const app = { appId: server.appId, privateKey: server.privateKey, baseUrl: server.url }
    this.#host = new GitHubHost(app, systemClock, callMs)
    this.#table = table
  }

  /**
   * Works on open deliveries as if they were due.
   * @returns the delay in milliseconds until the next try; null if the delivery has ended
   */
  async work(lateMs = 0): Promise<number | null> {
    const now = new Date(Date.now() + lateMs)
    const world = {
      ...context,
      clock: { now: () => now },
      sources: repositorySources({ ...context, gitHosts: new GitHosts([this.#host]) }, context.mirrors),
    }
    const queue: WorkQueue = this.#table === 'merges' ? mergeQueue(world) : publicationQueue(world)
    const { db } = context
    await db.query(`update ${this.#table} set due_at = 'epoch' where ended_at is null`)
    const tasks = await queue.claim({ now, until: new Date(now.getTime() + 600_000) }, 10)
    expect(tasks).toHaveLength(1)
    for (const task of tasks) await task.work(AbortSignal.timeout(30_000))
    const { rows } = await db.query<{ due_at: Date }>(
      `select due_at from ${this.#table} where ended_at is null and claim is null`,
    )
    return rows[0] === undefined ? null : rows[0].due_at.getTime() - now.getTime()
  }

  [Symbol.dispose](): void {
    this.#host[Symbol.dispose]()
  }
}

const pullsOf = (branch: string) => server.pulls.filter(({ head }) => head === branch)

/** The request of a delivery that a fault strikes. */
const steps = {
  token: /access_tokens$/,
  branch: /^GET \/repositories\/7\/branches\//,
  push: /git-receive-pack$/,
  find: /^GET \/repositories\/7\/pulls$/,
  open: /^POST \/repositories\/7\/pulls$/,
  read: /^GET \/repositories\/7\/pulls\/\d+$/,
  merge: /^PUT \/repositories\/7\/pulls\/\d+\/merge$/,
} as const
type Step = keyof typeof steps

const limited = { status: 429, headers: { 'retry-after': '7' } } as const
/** A retry: the least delay before it, and the code of the failure if the fault never ends. */
interface Later {
  readonly leastMs: number
  readonly inTheEnd: string
}
// bound: the delay that is expected
const away: Later = { leastMs: 1000, inTheEnd: 'git_host_unavailable' }
const busy: Later = { leastMs: 7000, inTheEnd: 'git_host_rate_limited' }

type Case = readonly [step: Step, answer: Fault['answer'] | number, outcome: string | Later]

const faultOf = ([step, answer]: Case): Fault => ({
  when: steps[step],
  answer: typeof answer === 'number' ? { status: answer } : answer,
})

/** Gives up a host that never answers soon; waits for any other, however busy the machine is. */
const patience = ([, answer]: Case): number | undefined => (answer === 'never' ? 250 : undefined)

/** Returns true if the host did the work in spite of the fault. The next try then finds it done. */
const isDone = ([step, answer]: Case): boolean => answer === 'half' && ['push', 'open', 'merge'].includes(step)

describe('a publication on a faulty host', () => {
  const cases: readonly Case[] = [
    ['token', 401, 'git_host_unauthorized'],
    ['token', 404, 'repository_unavailable'],
    ['token', 'half', away],
    ['branch', 401, 'git_host_unauthorized'],
    ['branch', 404, 'target_missing'],
    ['branch', limited, busy],
    ['branch', 'never', away],
    ['branch', 'half', away],
    ['push', 401, 'git_host_unauthorized'],
    ['push', 403, 'repository_permission_denied'],
    ['push', 404, 'repository_unavailable'],
    // bound: the delay that is expected
    ['push', limited, { ...busy, leastMs: 1000 }],
    ['push', 500, away],
    ['push', 'half', away],
    ['find', 'half', away],
    ['open', 401, 'git_host_unauthorized'],
    ['open', 403, 'repository_permission_denied'],
    ['open', 404, 'repository_unavailable'],
    ['open', 409, 'pull_request_refused'],
    ['open', 422, 'pull_request_refused'],
    ['open', limited, busy],
    ['open', 500, away],
    ['open', 'never', away],
    ['open', 'cut', away],
    ['open', 'half', away],
  ]

  it.each(cases)('at %s, answering %j, fails by name or continues, once', async (...given) => {
    const [, , outcome] = given
    using worker = new HandWorker('publications', patience(given))
    using next = new HandWorker('publications')
    const [id, branch] = [randomUUID(), `b-${randomUUID()}`]
    expect((await at.put(id, { revision, title: branch, branch })).status).toBe(201)
    server.fail(faultOf(given))
    const first = await worker.work()
    if (typeof outcome === 'string') {
      server.mend()
      const { status, lastError, result } = await at.ended(id)
      expect({ status, lastError, result }).toEqual({ status: 'failed', lastError: { code: outcome } })
      expect(await at.eventTypesOf(id)).toEqual(['publication.failed'])
      expect(pullsOf(branch)).toEqual([])
      return
    }
    expect(first).toBeGreaterThanOrEqual(outcome.leastMs)
    if (!isDone(given)) {
      expect(await worker.work()).toBeGreaterThanOrEqual(Math.max(outcome.leastMs, 2000))
      server.mend()
    }
    expect(await next.work()).toBeNull()
    server.mend()
    const { status, result } = await at.ended(id)
    const commitSha = await tipOf(gitDir, branch)
    expect(status).toBe('succeeded')
    expect(result).toMatchObject({ branch, commitSha, pullRequest: { reused: false } })
    expect(await gitText(['rev-list', '--count', `${at.baseOid}..${commitSha}`], { gitDir })).toBe('1')
    expect(pullsOf(branch)).toHaveLength(1)
    expect(await at.eventTypesOf(id)).toEqual(['artifact.created', 'publication.created'])
  })

  it.each<readonly [Step, Fault['answer'], Later]>([
    ['branch', { status: 500 }, away],
    ['open', limited, busy],
  ])('at %s, answering %j for ever, does not stay open', async (...given) => {
    const [, , outcome] = given
    using worker = new HandWorker('publications')
    const id = randomUUID()
    expect((await at.put(id, { revision, title: 'a', branch: `b-${id}` })).status).toBe(201)
    server.fail(faultOf(given))
    expect(await worker.work()).toBeGreaterThanOrEqual(outcome.leastMs)
    expect(await worker.work(context.delivery.publicationMs)).toBeNull()
    server.mend()
    expect(await at.ended(id)).toMatchObject({ status: 'failed', lastError: { code: outcome.inTheEnd } })
  })

  it('delivers nothing if the grant is revoked between two steps', async () => {
    using worker = new HandWorker('publications')
    const [id, branch] = [randomUUID(), 'revoked']
    expect((await at.put(id, { revision, title: 'a', branch })).status).toBe(201)
    await context.db.query(`create function revoke() returns trigger language plpgsql as $$ begin
      update repository_grants set revoked_at = now() where repository_id = '7'; return new; end $$`)
    await context.db.query(`create trigger revoke after update on publications for each row
      when (new.status = 'prepared') execute function revoke()`)
    expect(await worker.work()).toBeNull()
    await context.db.query('drop function revoke cascade')
    await context.db.query("update repository_grants set revoked_at = null where repository_id = '7'")
    expect(await at.ended(id)).toMatchObject({ status: 'failed', lastError: { code: 'authority_revoked' } })
    await expect(tipOf(gitDir, branch)).rejects.toThrow('unknown revision')
  })

  it('is completed by the next process after a kill between push and pull request', async () => {
    const variables = workerVariables(test)
    const [id, branch] = [randomUUID(), 'killed']
    await using first = await startServiceProcess(variables)
    server.fail({ when: steps.open, answer: 'never' })
    const before = server.requests.length
    await at.put(id, { revision, title: 'a', branch })
    await until('a call for a pull request', () => server.requests.slice(before).some(line => steps.open.test(line)))
    const pushed = await tipOf(gitDir, branch)
    await first.kill('SIGKILL')
    const { body } = await at.api.get<{ publication: Publication }>(at.path(`/publications/${id}`))
    expect(body.publication.status).toBe('attempted')
    server.mend()
    server.fail({ when: /^(GET|POST) \/repositories\/7\/pulls$/, answer: { status: 500 } })
    await using second = await startServiceProcess(variables)
    expect(second.pid).not.toBe(first.pid)
    await until('a publication that is left for later', async () => {
      const { rows } = await test.db.database.query<{ failures: number }>(
        'select failures from publications where id = $1',
        [id],
      )
      return (rows[0]?.failures ?? 0) > 0
    })
    server.mend()
    const { result } = await at.ended(id)
    expect(result).toMatchObject({ commitSha: pushed, pullRequest: { reused: false } })
    expect([await tipOf(gitDir, branch), pullsOf(branch).length]).toEqual([pushed, 1])
    expect(await at.eventTypesOf(id)).toEqual(['artifact.created', 'publication.created'])
  })
})

describe('a merge on a faulty host', () => {
  const [id, branch] = [randomUUID(), 'to-merge']
  beforeAll(async () => {
    using worker = new HandWorker('publications')
    await at.put(id, { revision, title: 'a', branch })
    await worker.work()
    expect(await at.ended(id)).toMatchObject({ status: 'succeeded' })
  })

  it.each<Case>([
    ['token', 401, 'git_host_unauthorized'],
    ['read', 403, 'repository_permission_denied'],
    ['read', 404, 'pull_request_missing'],
    ['read', limited, busy],
    ['read', 'half', away],
    ['read', 'never', away],
    ['merge', 401, 'git_host_unauthorized'],
    ['merge', 403, 'repository_permission_denied'],
    ['merge', 404, 'repository_unavailable'],
    ['merge', { status: 405, body: { message: 'Merge commits are not allowed on this repository.' } }, 'merge_refused'],
    ['merge', { status: 405, body: { message: 'Base branch was modified. Review and try the merge again.' } }, away],
    ['merge', 409, 'head_moved'],
    ['merge', 422, 'merge_refused'],
    ['merge', limited, busy],
    ['merge', 500, away],
    ['merge', 'never', away],
    ['merge', 'cut', away],
    ['merge', 'half', away],
  ])('at %s, answering %j, fails by name or continues, once', async (...given) => {
    const [, , outcome] = given
    const [pull] = pullsOf(branch)
    Object.assign(pull ?? {}, { state: 'open', mergedAt: null, mergeCommitOid: null })
    await runGit(['update-ref', 'refs/heads/main', at.baseOid], { gitDir })
    const before = (await at.eventTypesOf(id)).length
    using worker = new HandWorker('merges', patience(given))
    using next = new HandWorker('merges')
    const mergeId = randomUUID()
    expect((await at.putMerge(id, mergeId, { strategy: 'merge' })).status).toBe(201)
    server.fail(faultOf(given))
    const first = await worker.work()
    if (typeof outcome !== 'string') {
      expect(first).toBeGreaterThanOrEqual(outcome.leastMs)
      if (!isDone(given)) {
        expect(await worker.work()).toBeGreaterThanOrEqual(Math.max(outcome.leastMs, 2000))
        server.mend()
      }
      expect(await next.work()).toBeNull()
    }
    server.mend()
    const merge = await at.readMerge(id, mergeId)
    const types = (await at.eventTypesOf(id)).slice(before)
    if (typeof outcome === 'string') {
      expect(merge).toMatchObject({ status: 'failed', lastError: { code: outcome } })
      expect([types, await tipOf(gitDir, 'main')]).toEqual([['publication.merge_failed'], at.baseOid])
      return
    }
    const main = await tipOf(gitDir, 'main')
    expect([merge.lastError?.code, merge.status, merge.mergedCommitSha]).toEqual([undefined, 'succeeded', main])
    expect(await gitText(['rev-list', '--count', '--merges', `${at.baseOid}..main`], { gitDir })).toBe('1')
    expect(types).toEqual(['publication.merge_succeeded'])
  })
})

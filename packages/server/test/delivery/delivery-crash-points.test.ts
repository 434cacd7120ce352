import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Publication } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Deliverer } from '../../src/delivery/deliverer.ts'
import type { DeliveryContext } from '../../src/delivery/delivery-context.ts'
import { repositorySources } from '../../src/delivery/repository-sources.ts'
import { Worker } from '../../src/execution/worker.ts'
import { defaultIdentity } from '../../src/git/git-identity.ts'
import { gitText, runGit } from '../../src/git/run-git.ts'
import { openSshSigner } from '../../src/git/signing/ssh-signer.ts'
import { GitHosts } from '../../src/git-hosts/git-hosts.ts'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { mergeQueue } from '../../src/sessions/merges/merge-queue.ts'
import { publicationQueue } from '../../src/sessions/publications/publication-queue.ts'
import { reviewQueue } from '../../src/sessions/reviews/review-queue.ts'
import type { CrashMode } from '../support/faults/crash-point.ts'
import { DeliveryCrash } from '../support/faults/delivery-crash.ts'
import { Delivering, grant } from '../support/git/delivering.ts'
import { sampleRepository, tipOf } from '../support/git/repositories.ts'
import {
  databaseUrl,
  shortFence,
  startTestService,
  type TestService,
  testVariables,
} from '../support/services/service.ts'
import { startServiceProcess } from '../support/services/service-process.ts'
import { workerContext } from '../support/services/worker-context.ts'
import { until } from '../support/until.ts'

const stack = new AsyncDisposableStack()
let test: TestService
let context: DeliveryContext
let at: Delivering
let gitDir = ''
let revision = ''
// bound: a pause between two looks
const limits = { publicationMs: 600_000, mergeMs: 600_000, mergeWaitMs: 600_000, mergeCheckMs: 1000 }

beforeAll(async () => {
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  // The lease outlasts the file on the slowest machine: the last case has a sweeper.
  const working = await workerContext(test, stack, { limits: { leaseIdleMs: 600_000, leaseMaxMs: 600_000 } })
  const host = new LocalHost(test.db.database, systemClock, join(test.dataDir, 'repositories'), () => test.url)
  gitDir = await sampleRepository(join(test.dataDir, 'repositories'))
  const [repository] = (await host.listRepositories(LOCAL_ACCOUNT, { limit: 1, from: null })).repositories
  if (repository === undefined) throw new Error('no repository')
  // Its signatures differ each time that they are made: a worker that made a commit anew would push another.
  const key = join(test.dataDir, 'commit-key')
  execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-f', key])
  const signingKey = readFileSync(key, 'utf8')
  await writeFile(join(test.dataDir, 'berth.json'), JSON.stringify({ commits: { signingKey } }), { mode: 0o600 })
  context = {
    ...working,
    commits: { identity: defaultIdentity, signer: await openSshSigner(signingKey) },
    scratchDir: join(test.dataDir, 'scratch'),
    sources: repositorySources({ db: test.db.database, gitHosts: new GitHosts([host]) }, working.mirrors),
    delivery: limits,
  }
  await using worker = new Worker(working)
  await worker.start()
  const granted = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir }
  at = await Delivering.begin(test, { ...granted, grantId: await grant(test, granted) })
  await writeFile(join(at.project, 'new'), 'new')
  // bound: a pause between two looks
  await using reviewing = new Deliverer(context, [reviewQueue(context)], { claimMs: 60_000, pollMs: 50 })
  await reviewing.start()
  revision = (await at.review()).revision
})
afterAll(() => stack.disposeAsync())

const queues = { publications: publicationQueue, merges: mergeQueue } as const

/** Lets one worker, with its own dependencies, do the work that is due. */
async function workOff(kind: keyof typeof queues, world: DeliveryContext, signal: AbortSignal): Promise<number> {
  await test.db.database.query(`update ${kind} set claimed_until = null, due_at = 'epoch' where ended_at is null`)
  const by = { now: new Date(), until: new Date(Date.now() + 600_000) }
  const tasks = await queues[kind](world)
    .claim(by, 10)
    .catch(() => [])
  for (const task of tasks) await task.work(signal).catch(() => undefined)
  return tasks.length
}

/** Reads that change nothing: one crash at each is enough. */
const alike: ReadonlySet<string> = new Set(['run a program', 'mirror', 'get access to read'])
const modes: readonly CrashMode[] = ['dies', 'fails', 'unanswered']

/**
 * Publishes under a worker that crashes and another that continues.
 * @returns the steps of the first
 */
async function publish(strike: DeliveryCrash, branch: string): Promise<{ id: string; steps: readonly string[] }> {
  const id = randomUUID()
  expect((await at.put(id, { revision, title: branch, branch })).status).toBe(201)
  await take('publications', strike)
  return { id, steps: strike.steps }
}

async function take(kind: keyof typeof queues, strike: DeliveryCrash): Promise<void> {
  await workOff(kind, strike.world(context), strike.signal)
  while ((await workOff(kind, context, new AbortController().signal)) > 0);
}

describe('a worker that crashes', () => {
  it.each(modes)('while it publishes leaves a state that another finishes once: %s', async mode => {
    const whole = await publish(new DeliveryCrash(0, mode), `whole-${mode}`)
    expect(whole.steps.length).toBeGreaterThan(12)
    const cases = whole.steps.flatMap((name, index) => (mode === 'dies' || !alike.has(name) ? [index + 1] : []))
    for (const step of cases) {
      const strike = new DeliveryCrash(step, mode)
      const branch = `${mode}-${step}`
      const { id } = await publish(strike, branch)
      expect(strike.struck).toBe(true)
      const publication = await at.ended(id)
      const named = `${step} ${whole.steps[step - 1]}: ${publication.lastError?.code}`
      const commitSha = await tipOf(gitDir, branch)
      expect([named, publication.status]).toEqual([named, 'succeeded'])
      expect(publication.result).toMatchObject({ branch, commitSha, pullRequest: { reused: false } })
      expect(await gitText(['rev-list', '--count', `${at.baseOid}..${commitSha}`], { gitDir })).toBe('1')
      expect(await at.toldOf(id)).toEqual(['artifact.created', 'publication.created'])
    }
    const { rows } = await test.db.database.query<{ n: number }>(
      `select count(*)::int as n from local_pulls where head_branch like $1`,
      [`${mode}-%`],
    )
    expect(rows[0]?.n).toBe(cases.length)
  })

  it.each(modes)('while it merges leaves a state that another finishes once: %s', async mode => {
    let steps = 4
    for (let step = 0; step <= steps; step++) {
      await runGit(['update-ref', 'refs/heads/main', at.baseOid], { gitDir })
      const { id } = await publish(new DeliveryCrash(0, mode), `merge-${mode}-${step}`)
      const strike = new DeliveryCrash(step, mode)
      const mergeId = randomUUID()
      expect((await at.putMerge(id, mergeId, { strategy: 'merge' })).status).toBe(201)
      await take('merges', strike)
      if (step === 0) steps = strike.steps.length
      const merge = await at.readMerge(id, mergeId)
      const named = `${step} ${strike.steps[step - 1]}: ${merge.lastError?.code}`
      expect([named, merge.status]).toEqual([named, 'succeeded'])
      expect(merge.mergedCommitSha).toBe(await tipOf(gitDir, 'main'))
      expect(await gitText(['rev-list', '--count', '--merges', `${at.baseOid}..main`], { gitDir })).toBe('1')
      const told = (await at.toldOf(id)).filter(type => type.startsWith('publication.merge'))
      expect(told).toEqual(['publication.merge_succeeded'])
    }
    expect(steps).toBeGreaterThanOrEqual(5)
  })

  it('by kill -9 between push and record leaves a publication that its successor ends', async () => {
    const variables = {
      ...testVariables,
      ...shortFence,
      BERTH_ROLES: 'worker',
      BERTH_DATA_DIR: test.dataDir,
      DATABASE_URL: databaseUrl(test.db),
    }
    const id = randomUUID()
    await using first = await startServiceProcess(variables)
    const pushed = await test.db.database.transaction(async tx => {
      // The first look for a pull request comes after the push.
      await tx.query('lock table local_pulls in access exclusive mode')
      await at.put(id, { revision, title: 'a', branch: 'killed' })
      const tip = await until('the push', () => tipOf(gitDir, 'killed').catch(() => undefined))
      await first.kill('SIGKILL')
      return tip
    })
    const { body } = await at.api.get<{ publication: Publication }>(at.path(`/publications/${id}`))
    expect(body.publication.status).toBe('attempted')
    await using second = await startServiceProcess(variables)
    expect(second.pid).not.toBe(first.pid)
    const publication = await at.ended(id)
    expect(publication.result).toMatchObject({ commitSha: pushed, pullRequest: { reused: false } })
    expect(await tipOf(gitDir, 'killed')).toBe(pushed)
    expect(await gitText(['cat-file', 'commit', pushed], { gitDir })).toMatch('gpgsig -----BEGIN SSH SIGNATURE-----')
    expect(await at.toldOf(id)).toEqual(['artifact.created', 'publication.created'])
  })

  it('crashes at every documented step', () => {
    const page = readFileSync(new URL('../../../../docs/crash-points.md', import.meta.url), 'utf8')
    for (const step of ['run a program', 'record `attempted`', 'push', 'open a pull request', 'merge', 'commit']) {
      expect(page).toContain(`| ${step}`)
    }
  })
})

import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { setAttribution } from '../../src/accounts/organizations/commit-attribution.ts'
import { Deliverer } from '../../src/delivery/deliverer.ts'
import type { DeliveryContext } from '../../src/delivery/delivery-context.ts'
import { repositorySources } from '../../src/delivery/repository-sources.ts'
import { Worker } from '../../src/execution/worker.ts'
import { gitText } from '../../src/git/run-git.ts'
import { publicationQueue } from '../../src/sessions/publications/publication-queue.ts'
import { reviewQueue } from '../../src/sessions/reviews/review-queue.ts'
import type { CrashMode } from '../support/faults/crash-point.ts'
import { DeliveryCrash } from '../support/faults/delivery-crash.ts'
import { Delivering, grant } from '../support/git/delivering.ts'
import { hostIdOf } from '../support/git/git-host-config.ts'
import { GitHubServer } from '../support/git/github-server.ts'
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
// bound: a pause between two looks
const limits = { publicationMs: 600_000, mergeMs: 600_000, mergeWaitMs: 600_000, mergeCheckMs: 1000 }
let test: TestService
let server: GitHubServer
let context: DeliveryContext
let at: Delivering
let gitDir = ''
let revision = ''
let tree = ''

beforeAll(async () => {
  server = stack.use(await GitHubServer.start())
  const app = { appId: server.appId, privateKey: server.privateKey, baseUrl: server.url }
  const config = { gitHosts: [{ kind: 'github', ...app }] }
  test = stack.use(await startTestService({ config, variables: { BERTH_ROLES: 'api' } }))
  // The lease outlasts the file on the slowest machine: the last case has a sweeper.
  const working = await workerContext(test, stack, {
    limits: { leaseIdleMs: 600_000, leaseMaxMs: 600_000 },
    gitHosts: [{ kind: 'github', clientId: undefined, clientSecret: undefined, ...app }],
  })
  context = {
    ...working,
    scratchDir: join(test.dataDir, 'scratch'),
    sources: repositorySources(working, working.mirrors),
    delivery: limits,
  }
  gitDir = await sampleRepository(join(test.dataDir, 'served'), 'o/r')
  server.addRepository({ id: 7, fullName: 'o/r', gitDir, installations: ['5'] })
  const repository = { repositoryId: '7', fullName: 'o/r' }
  const granted = { host: hostIdOf(server), provider: 'github', account: '5', repository, gitDir }
  const choice = { author: 'app', signOff: false, signer: 'host' } as const
  await setAttribution(test.db.database, test.tenant.organizationId, choice)
  await using worker = new Worker(working)
  await worker.start()
  at = await Delivering.begin(test, { ...granted, grantId: await grant(test, granted) })
  await writeFile(join(at.project, 'new'), 'new')
  // bound: a pause between two looks
  await using reviewing = new Deliverer(context, [reviewQueue(context)], { claimMs: 60_000, pollMs: 50 })
  await reviewing.start()
  const review = await at.review()
  revision = review.revision
  tree = review.headTree
})
afterAll(() => stack.disposeAsync())

/** Lets one worker, with its own dependencies, do the work that is due. */
async function workOff(world: DeliveryContext, signal: AbortSignal): Promise<number> {
  await test.db.database.query("update publications set claimed_until = null, due_at = 'epoch' where ended_at is null")
  const by = { now: new Date(), until: new Date(Date.now() + 600_000) }
  const tasks = await publicationQueue(world)
    .claim(by, 10)
    .catch(() => [])
  for (const task of tasks) await task.work(signal).catch(() => undefined)
  return tasks.length
}

/** Publishes under a worker that crashes and others that continue. */
async function publish(strike: DeliveryCrash, branch: string): Promise<string> {
  const id = randomUUID()
  expect((await at.put(id, { revision, title: branch, branch })).status).toBe(201)
  await workOff(strike.world(context), strike.signal)
  while ((await workOff(context, new AbortController().signal)) > 0);
  return id
}

/** Expects that a Publication has put exactly one commit on its branch, which the host has signed. */
async function expectOnce(id: string, branch: string, named: string): Promise<void> {
  const publication = await at.ended(id)
  expect([named, publication.status, publication.lastError]).toEqual([named, 'succeeded', undefined])
  const commitSha = await tipOf(gitDir, branch)
  expect(publication.result).toMatchObject({ branch, commitSha, pullRequest: { reused: false } })
  expect(await gitText(['log', '--format=%T %P', `${at.baseOid}..${branch}`], { gitDir })).toBe(`${tree} ${at.baseOid}`)
  expect(server.commits.made).toContain(commitSha)
  expect(await server.commits.verify(gitDir, commitSha)).toBe('G')
  expect(server.pulls.filter(({ head }) => head === branch)).toHaveLength(1)
  expect(await gitText(['for-each-ref', 'refs/berth/'], { gitDir })).toBe('')
  expect(await at.toldOf(id)).toEqual(['artifact.created', 'publication.created'])
}

/** Steps before the host is asked to make the commit differ in nothing from those of other Publications. */
const own = ['make the commit', 'record', 'read a branch', 'get access to write', 'look for a pull request']
const modes: readonly CrashMode[] = ['dies', 'fails', 'unanswered']

it.each(modes)('a worker that %s leaves one commit on the branch, signed by the host', async mode => {
  const whole = new DeliveryCrash(0, mode)
  await expectOnce(await publish(whole, `whole-${mode}`), `whole-${mode}`, 'none')
  const { steps } = whole
  const made = steps.indexOf('make the commit')
  // The commit is on record before the branch gets it.
  expect(steps.slice(made, made + 3)).toEqual(['make the commit', 'record', 'read a branch'])
  const first = steps.lastIndexOf('record', made - 1)
  for (const [index, name] of steps.entries()) {
    if (index < first || !own.includes(name)) continue
    const strike = new DeliveryCrash(index + 1, mode)
    const branch = `${mode}-${index}`
    const id = await publish(strike, branch)
    expect(strike.struck).toBe(true)
    await expectOnce(id, branch, `${index + 1} ${name}`)
  }
})

it('kill -9 while the host makes the commit leaves a publication that its successor ends', async () => {
  const variables = {
    ...testVariables,
    ...shortFence,
    BERTH_ROLES: 'worker',
    BERTH_DATA_DIR: test.dataDir,
    DATABASE_URL: databaseUrl(test.db),
  }
  const id = randomUUID()
  server.fail({ when: /git\/commits$/, answer: 'never', times: 1 })
  const asked = () => server.requests.filter(line => line.endsWith('git/commits')).length
  const before = asked()
  await using first = await startServiceProcess(variables)
  await at.put(id, { revision, title: 'a', branch: 'killed' })
  await until('a request for the commit', async () => asked() > before)
  await first.kill('SIGKILL')
  const { rows } = await test.db.database.query('select status, commit_sha from publications where id = $1', [id])
  expect(rows).toEqual([{ status: 'attempted', commit_sha: null }])
  expect(await gitText(['for-each-ref', '--format=%(refname)', 'refs/berth/'], { gitDir })).toBe(
    `refs/berth/drafts/${id}`,
  )
  await using second = await startServiceProcess(variables)
  expect(second.pid).not.toBe(first.pid)
  await expectOnce(id, 'killed', 'kill -9')
})

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Review } from '@berth/contract'
import { Deliverer } from '@berth/core/delivery/deliverer.ts'
import { type DeliveryContext, followTimes } from '@berth/core/delivery/delivery-context.ts'
import { mergeQueue } from '@berth/core/sessions/merges/merge-queue.ts'
import { publicationQueue } from '@berth/core/sessions/publications/publication-queue.ts'
import { reviewQueue } from '@berth/core/sessions/reviews/review-queue.ts'
import type { ExecutionContext } from '@berth/worker/claim/execution-context.ts'
import { Worker } from '@berth/worker/worker.ts'
import type { DeliveryCrash } from '../faults/delivery-crash.ts'
import { startTestService, type TestService } from '../services/service.ts'
import { workerContext } from '../services/worker-context.ts'
import { Delivering, type Granted, grant } from './delivering.ts'
import { hostIdOf } from './git-host-config.ts'
import { GitHubServer } from './github-server.ts'
import { sampleRepository } from './repositories.ts'

// bound: a pause between two looks
const delivery = {
  ...{ publicationMs: 600_000, mergeMs: 600_000, mergeWaitMs: 600_000, mergeCheckMs: 1000 },
  follow: { ...followTimes, pollMs: 120_000 },
}
/** The lease outlasts a file on the slowest machine, although a process of it may have a sweeper. */
const limits = { leaseIdleMs: 600_000, leaseMaxMs: 600_000 }

/** A Session with a reviewed change, whose deliveries the test works off by hand. */
export interface ReviewedChange {
  readonly test: TestService
  readonly context: ExecutionContext & DeliveryContext
  readonly at: Delivering
  readonly review: Review
}

/** Makes a Session of a repository with one new file, and reviews it. */
export async function reviewedChange(
  test: TestService,
  granted: Granted,
  stack: AsyncDisposableStack,
  options: Parameters<typeof workerContext>[2] = {},
): Promise<ReviewedChange> {
  const working = await workerContext(test, stack, { limits, ...options })
  const context = { ...working, delivery }
  await using worker = new Worker(context)
  await worker.start()
  const at = await Delivering.begin(test, { ...granted, grantId: await grant(test, granted) })
  await writeFile(join(at.project, 'new'), 'new')
  // bound: a pause between two looks
  await using reviewing = new Deliverer(context, [reviewQueue(context)], { claimMs: 60_000, pollMs: 50 })
  await reviewing.start()
  return { test, context, at, review: await at.review() }
}

/** The same with repository `7` of a GitHub on loopback. */
export async function changeAtGitHub(
  stack: AsyncDisposableStack,
): Promise<ReviewedChange & { readonly server: GitHubServer; readonly gitDir: string }> {
  const server = stack.use(await GitHubServer.start())
  const app = { appId: server.appId, privateKey: server.privateKey, baseUrl: server.url }
  const config = { gitHosts: [{ kind: 'github', ...app }] }
  const test = stack.use(await startTestService({ config, variables: { BERTH_ROLES: 'api' } }))
  const gitDir = await sampleRepository(join(test.dataDir, 'served'), 'o/r')
  server.addRepository({ id: 7, fullName: 'o/r', gitDir, installations: ['5'] })
  const repository = { repositoryId: '7', fullName: 'o/r' }
  const granted = { host: hostIdOf(server), provider: 'github', account: '5', repository, gitDir }
  const gitHosts = [{ kind: 'github' as const, clientId: undefined, clientSecret: undefined, ...app }]
  return { ...(await reviewedChange(test, granted, stack, { gitHosts })), server, gitDir }
}

const queues = { publications: publicationQueue, merges: mergeQueue } as const

/** Lets a worker crash at the work that is due, and others continue it to its end. Each has its own dependencies. */
export async function takeOver(
  kind: keyof typeof queues,
  context: DeliveryContext,
  strike: DeliveryCrash,
): Promise<void> {
  const workOff = async (world: DeliveryContext, signal: AbortSignal): Promise<number> => {
    await context.db.query(`update ${kind} set claimed_until = null, due_at = 'epoch' where ended_at is null`)
    const by = { now: new Date(), until: new Date(Date.now() + 600_000) }
    const tasks = await queues[kind](world)
      .claim(by, 10)
      .catch(() => [])
    for (const task of tasks) await task.work(signal).catch(() => undefined)
    return tasks.length
  }
  await workOff(strike.world(context), strike.signal)
  while ((await workOff(context, new AbortController().signal)) > 0);
}

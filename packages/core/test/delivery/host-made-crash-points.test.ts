import { randomUUID } from 'node:crypto'
import type { CrashMode } from '@berth/testing/faults/crash-point.ts'
import { DeliveryCrash } from '@berth/testing/faults/delivery-crash.ts'
import { tipOf } from '@berth/testing/git/repositories.ts'
import { changeAtGitHub, takeOver } from '@berth/testing/git/reviewed-change.ts'
import { workerVariables } from '@berth/testing/services/service.ts'
import { startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { setAttribution } from '../../src/accounts/organizations/commit-attribution.ts'
import { gitText } from '../../src/git/run-git.ts'

const stack = new AsyncDisposableStack()
let change: Awaited<ReturnType<typeof changeAtGitHub>>
beforeAll(async () => {
  change = await changeAtGitHub(stack)
  const choice = { author: 'app', signOff: false, signer: 'host' } as const
  await setAttribution(change.context.db, change.test.tenant.organizationId, choice)
})
afterAll(() => stack.disposeAsync())

/** Publishes under a worker that crashes and others that continue. */
async function publish(strike: DeliveryCrash, branch: string): Promise<string> {
  const { at, context, review } = change
  const id = randomUUID()
  expect((await at.put(id, { revision: review.revision, title: branch, branch })).status).toBe(201)
  await takeOver('publications', context, strike)
  return id
}

/** Expects that a Publication has put exactly one commit on its branch, which the host has signed. */
async function expectOnce(id: string, branch: string, named: string): Promise<void> {
  const { at, gitDir, review, server } = change
  const publication = await at.ended(id)
  expect([named, publication.status, publication.lastError]).toEqual([named, 'succeeded', undefined])
  const commitSha = await tipOf(gitDir, branch)
  expect(publication.result).toMatchObject({ branch, commitSha, pullRequest: { reused: false } })
  expect(await gitText(['log', '--format=%T %P', `${at.baseOid}..${branch}`], { gitDir })).toBe(
    `${review.headTree} ${at.baseOid}`,
  )
  expect(server.commits.made).toContain(commitSha)
  expect(await server.commits.verify(gitDir, commitSha)).toBe('G')
  expect(server.pulls.filter(({ head }) => head === branch)).toHaveLength(1)
  expect(await gitText(['for-each-ref', 'refs/berth/'], { gitDir })).toBe('')
  expect(await at.eventTypesOf(id)).toEqual(['artifact.created', 'publication.created'])
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
  const { at, gitDir, review, server, test } = change
  const variables = workerVariables(test)
  const id = randomUUID()
  server.fail({ when: /git\/commits$/, answer: 'never', times: 1 })
  const attempts = () => server.requests.filter(line => line.endsWith('git/commits')).length
  const before = attempts()
  await using first = await startServiceProcess(variables)
  await at.put(id, { revision: review.revision, title: 'a', branch: 'killed' })
  await until('a request for the commit', async () => attempts() > before)
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

import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Publication } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { CrashMode } from '@berth/testing/faults/crash-point.ts'
import { DeliveryCrash } from '@berth/testing/faults/delivery-crash.ts'
import type { Delivering } from '@berth/testing/git/delivering.ts'
import { sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { reviewedChange, takeOver } from '@berth/testing/git/reviewed-change.ts'
import { startTestService, type TestService, workerVariables } from '@berth/testing/services/service.ts'
import { startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DeliveryContext } from '../../src/delivery/delivery-context.ts'
import { defaultIdentity } from '../../src/git/git-identity.ts'
import { gitText, runGit } from '../../src/git/run-git.ts'
import { openSshSigner } from '../../src/git/signing/ssh-signer.ts'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'

const stack = new AsyncDisposableStack()
let test: TestService
let context: DeliveryContext
let at: Delivering
let gitDir = ''
let revision = ''

beforeAll(async () => {
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  const host = new LocalHost(test.db.database, systemClock, join(test.dataDir, 'repositories'), () => test.url)
  gitDir = await sampleRepository(join(test.dataDir, 'repositories'))
  const [repository] = (await host.listRepositories(LOCAL_ACCOUNT, { limit: 1, from: null })).repositories
  if (repository === undefined) throw new Error('no repository')
  // Its signatures differ each time that they are made: a worker that made a commit anew would push another.
  const key = join(test.dataDir, 'commit-key')
  execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-f', key])
  const signingKey = readFileSync(key, 'utf8')
  await writeFile(join(test.dataDir, 'berth.json'), JSON.stringify({ commits: { signingKey } }), { mode: 0o600 })
  const granted = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir }
  const change = await reviewedChange(test, granted, stack)
  context = { ...change.context, commits: { identity: defaultIdentity, signer: await openSshSigner(signingKey) } }
  at = change.at
  revision = change.review.revision
})
afterAll(() => stack.disposeAsync())

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
  await takeOver('publications', context, strike)
  return { id, steps: strike.steps }
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
      expect(await at.eventTypesOf(id)).toEqual(['artifact.created', 'publication.created'])
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
      await takeOver('merges', context, strike)
      if (step === 0) steps = strike.steps.length
      const merge = await at.readMerge(id, mergeId)
      const named = `${step} ${strike.steps[step - 1]}: ${merge.lastError?.code}`
      expect([named, merge.status]).toEqual([named, 'succeeded'])
      expect(merge.mergedCommitSha).toBe(await tipOf(gitDir, 'main'))
      expect(await gitText(['rev-list', '--count', '--merges', `${at.baseOid}..main`], { gitDir })).toBe('1')
      const types = (await at.eventTypesOf(id)).filter(type => type.startsWith('publication.merge'))
      expect(types).toEqual(['publication.merge_succeeded'])
    }
    expect(steps).toBeGreaterThanOrEqual(5)
  })

  it('by kill -9 between push and record leaves a publication that its successor ends', async () => {
    const variables = workerVariables(test)
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
    expect(await at.eventTypesOf(id)).toEqual(['artifact.created', 'publication.created'])
  })

  it('crashes at every documented step', () => {
    const page = readFileSync(new URL('../../../../docs/crash-points.md', import.meta.url), 'utf8')
    for (const step of ['run a program', 'record `attempted`', 'push', 'open a pull request', 'merge', 'commit']) {
      expect(page).toContain(`| ${step}`)
    }
  })
})

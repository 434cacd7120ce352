import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Environment, environmentLimits, type Verification, type VerificationPage } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { clientConfig } from '@berth/platform/storage/postgres/pool.ts'
import { PostgresWakeups } from '@berth/platform/storage/postgres/wakeups.ts'
import { waitFor } from '@berth/testing/environments/applying.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { grant } from '@berth/testing/git/delivering.ts'
import { fileAt, sampleRepository } from '@berth/testing/git/repositories.ts'
import { Verifying as VerifyingSession } from '@berth/testing/git/verifying.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService, workerVariables } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gitText } from '../../src/git/run-git.ts'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'
import { verificationChores } from '../../src/sessions/verification-chores.ts'

const stack = new AsyncDisposableStack()
let test: TestService
let worker: ServiceProcess
let environments: Environments
let wakeups: PostgresWakeups
const log = pino({ level: 'silent' })
let gitDir: string
let source: object
/** 256 MiB a sandbox, which a check can fill. */
const variables = () => ({ ...workerVariables(test), BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2) })
beforeAll(async () => {
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  const root = join(test.dataDir, 'repositories')
  gitDir = await sampleRepository(root)
  const host = new LocalHost(test.db.database, systemClock, root, () => test.url)
  const [repository] = (await host.listRepositories(LOCAL_ACCOUNT, { limit: 1, from: null })).repositories
  if (repository === undefined) throw new Error('no repository')
  const granted = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir }
  source = { grantId: await grant(test, granted), repositoryId: repository.repositoryId }
  environments = new Environments(test.api)
  wakeups = stack.use(new PostgresWakeups({ connection: clientConfig({ connection: test.db.connection, log }), log }))
  await wakeups.start()
  stack.defer(() => worker.kill('SIGKILL'))
  worker = await startServiceProcess(variables())
})
afterAll(() => stack.disposeAsync())

/** A Session on the repository whose agent has made a change, which is reviewed. */
const Verifying = {
  of: (environment: Environment, change?: string) => VerifyingSession.of(test, source, environment, change),
}

const outcomes = ({ checks }: Verification) =>
  checks.map(({ name, state, exitCode }) => [name, state, exitCode].join(' '))
const tails = ({ checks }: Verification) => Object.fromEntries(checks.map(each => [each.name, each.outputTail]))

describe('a verification', () => {
  it('runs each check on exactly the revision, which is what is published', async () => {
    const made = await environments.make({
      setup: 'echo prepared > ../installed; echo of setup > README.md; echo "$TOKEN" > ../token',
      checks: [
        {
          name: 'sees',
          run: 'cat README.md added/new.txt ../installed; ls; cat ../token; printenv TOKEN || echo none',
        },
        { name: 'writes', run: 'echo spoiled > README.md; rm -r added; echo back > test.sh; echo kept > built' },
        { name: 'sees the change only', run: 'cat README.md added/new.txt built; ls' },
        { name: 'elsewhere', run: 'false', paths: ['docs/**'] },
        { name: 'touched', run: 'git diff --name-only', paths: ['docs/**', 'test.*'] },
        { name: 'optional', run: 'exit 3', required: false },
        { name: 'says one thing', run: 'echo 2 tests failed' },
      ],
    })
    const bound = await environments.writeSecret(made.id, 'TOKEN', 'a canary in its cage', made.revision)
    const change = 'echo changed > README.md; mkdir added; echo new > added/new.txt; rm test.sh'
    const verifying = await Verifying.of(bound.body.environment, change)
    await writeFile(join(verifying.at.project, 'later'), 'not reviewed')
    expect(outcome(await verifying.publish({ verified: true }))).toBe('409 cloud_verification_required')
    const id = await verifying.ask()
    const verification = await verifying.ended(id)
    const seen = 'README.md\nadded\ngreet.sh\nlib\nwords\n'
    expect(tails(verification)).toEqual({
      sees: `changed\nnew\nprepared\n${seen}[secret]\nnone\n`,
      writes: '',
      'sees the change only': 'changed\nnew\nkept\nREADME.md\nadded\nbuilt\ngreet.sh\nlib\nwords\n',
      elsewhere: undefined,
      touched: 'README.md\ntest.sh\n',
      optional: '',
      'says one thing': '2 tests failed\n',
    })
    expect(outcomes(verification)).toEqual([
      'sees passed 0',
      'writes passed 0',
      'sees the change only passed 0',
      'elsewhere skipped ',
      'touched passed 0',
      'optional failed 3',
      'says one thing passed 0',
    ])
    expect(verification).toMatchObject({
      state: 'passed',
      environment: { id: made.id, revision: 2 },
      counts: { passed: 5, failed: 1, skipped: 1 },
      requestedBy: { kind: 'app_installation', id: test.tenant.installationId },
    })
    const [{ artifactId } = {}] = verification.checks
    const whole = await test.api.get(verifying.at.path(`/artifacts/${artifactId}/content`))
    expect(whole.text).toBe(tails(verification)['sees'])
    expect(await verifying.events(id)).toEqual([
      ['svc.verification.started', 'running'],
      ['svc.verification.completed', 'passed'],
    ])
    await rm(join(verifying.at.project, 'later'))
    const publication = await verifying.at.publish({ verified: true })
    const commit = publication.result?.commitSha ?? ''
    expect(await gitText(['rev-parse', `${commit}^{tree}`], { gitDir })).toBe(verification.tree)
    expect(await fileAt(gitDir, commit, 'README.md')).toBe('changed')
    expect(await verifying.left(id)).toEqual([])
  })

  it('fails with a required check, goes on behind any, and keeps nothing out that its environment lets out', async () => {
    const made = await environments.make({
      checks: [
        // bound: it is to be over
        { name: 'endless', run: 'trap "" TERM; tail -f /dev/null', timeoutSeconds: 1 },
        { name: 'forks', run: 'tail -f /dev/null & (setsid tail -f /dev/null &); echo begun' },
        { name: 'fills the disk', run: 'head -c 400000000 /dev/zero > big; s=$?; rm big; exit $s' },
        { name: 'ends its keeper', run: 'kill -9 $PPID' },
        { name: 'much', run: 'head -c 1000000 /dev/zero | tr "\\0" a; echo the end' },
      ],
    })
    const verifying = await Verifying.of(made)
    const failed = await verifying.ended(await verifying.ask())
    expect(outcomes(failed)).toEqual([
      'endless failed ',
      'forks passed 0',
      'fills the disk failed 1',
      'ends its keeper failed ',
      'much passed 0',
    ])
    expect(failed).toMatchObject({ state: 'failed', counts: { passed: 2, failed: 3, skipped: 0 } })
    expect(failed.checks[0]).toMatchObject({ timedOut: true, exitCode: null })
    expect(failed.checks[4]?.outputTail).toHaveLength(8192)
    expect(failed.checks[4]?.outputTail?.endsWith('aaathe end\n')).toBe(true)
    expect(outcome(await verifying.publish({ verified: true }))).toBe('409 cloud_verification_required')
    const document = { name: made.name, requireVerified: true, checks: [{ name: 'a', run: 'true' }] }
    expect(outcome(await environments.put(made.id, document, 1))).toBe('200')
    expect(outcome(await verifying.publish())).toBe('409 cloud_verification_required')
    const passed = await verifying.ended(await verifying.ask())
    expect([passed.state, passed.environment.revision]).toEqual(['passed', 2])
    // What an earlier revision of the environment has passed says nothing about the checks of a later one.
    const stricter = { ...document, checks: [{ name: 'a', run: 'false' }] }
    expect(outcome(await environments.put(made.id, stricter, 2))).toBe('200')
    expect(outcome(await verifying.publish())).toBe('409 cloud_verification_required')
    expect(outcome(await environments.restore(made.id, 2, 3))).toBe('200')
    expect(outcome(await verifying.publish())).toBe('409 cloud_verification_required')
    await verifying.ended(await verifying.ask())
    expect(outcome(await verifying.publish())).toBe('201')
  })

  it('is found again for the same tree, unless it is to be fresh, and answers a repeated request', async () => {
    const made = await environments.make({ checks: [{ name: 'a', run: 'echo ran' }] })
    const verifying = await Verifying.of(made)
    const first = await verifying.ended(await verifying.ask())
    const id = await verifying.ask()
    const again = await verifying.read(id)
    expect(again).toMatchObject({ state: 'passed', reusedFrom: first.id, checks: first.checks })
    expect(await verifying.events(id)).toEqual([['svc.verification.completed', 'passed']])
    const fresh = await verifying.ended(await verifying.ask({ fresh: true }))
    expect([fresh.state, fresh.reusedFrom, fresh.checks[0]?.artifactId === first.checks[0]?.artifactId]).toEqual([
      'passed',
      undefined,
      false,
    ])
    const replay = await verifying.put(id)
    expect([replay.status, replay.body.verification]).toEqual([200, again])
    expect(outcome(await verifying.put(id, { fresh: true }))).toBe('409 cloud_verification_conflict')
    expect(outcome(await verifying.put(randomUUID(), { revision: 'a'.repeat(64) }))).toBe('400 invalid_request')
    const path = verifying.at.path('/repository/verifications')
    const { body } = await test.api.get<VerificationPage>(`${path}?limit=2`)
    expect([body.verifications.map(each => each.id), body.hasMore]).toEqual([[fresh.id, id], true])
    const { api } = await test.newTenant()
    for (const at of [path, `${path}/${id}`]) expect(outcome(await api.get(at))).toBe('404 cloud_session_not_found')
    expect(outcome(await api.put(`${path}/${id}`, { revision: verifying.revision }))).toBe(
      '404 cloud_session_not_found',
    )
    expect(outcome(await environments.put(made.id, { name: made.name }, 1))).toBe('200')
    expect(outcome(await verifying.put(randomUUID()))).toBe('409 cloud_checks_required')
  })

  it('whose setup fails says nothing of the change', async () => {
    const made = await environments.make({ checks: [{ name: 'a', run: 'true' }] })
    const verifying = await Verifying.of(made)
    const document = { name: made.name, setup: 'echo no network; exit 3', checks: made.document.checks }
    expect(outcome(await environments.put(made.id, document, 1))).toBe('200')
    const errored = await verifying.ended(await verifying.ask())
    expect(errored).toMatchObject({
      state: 'errored',
      error: { code: 'setup_exit_nonzero', outputTail: 'no network\n' },
      checks: [{ name: 'a', state: 'waiting' }],
    })
  })
})

describe('while a check runs', () => {
  const checks = ['a', 'b', 'c'].map(name => ({
    name,
    run: `echo ${name} >> ../runs; ${name === 'b' ? waitFor('../go') : 'cat ../runs'}`,
  }))
  const atB = ({ checks: [, b] }: Verification) => b?.state === 'running'

  it('kill -9 of its worker leaves it to another, which goes on, and each check has run once', async () => {
    const verifying = await Verifying.of(await environments.make({ checks }))
    const id = await verifying.ask()
    await verifying.when(id, atB)
    await worker.kill('SIGKILL')
    worker = await startServiceProcess(variables())
    await verifying.go(id)
    const ended = await verifying.ended(id)
    expect([ended.state, tails(ended)]).toEqual(['passed', { a: 'a\n', b: '', c: 'a\nb\nc\n' }])
    expect(await verifying.events(id)).toEqual([
      ['svc.verification.started', 'running'],
      ['svc.verification.completed', 'passed'],
    ])
  })

  it('a sandbox that is replaced by one without an environment has passed nothing', async () => {
    const verifying = await Verifying.of(await environments.make({ checks }))
    const id = await verifying.ask()
    await verifying.when(id, atB)
    await worker.kill('SIGKILL')
    const of = [await verifying.sandbox(id)]
    await test.db.database.query('update sessions set environment_id = null where id = $1', of)
    // As by a worker that dies while it makes the sandbox: the next one makes another.
    await test.db.database.query(`update leases set state = 'creating' where session_id = $1`, of)
    worker = await startServiceProcess(variables())
    expect(await verifying.ended(id)).toMatchObject({ state: 'errored', error: { code: 'cloud_checks_required' } })
    expect(outcome(await verifying.publish({ verified: true }))).toBe('409 cloud_verification_required')
  })

  it('it ends when the time of setup and all checks together is over, in whichever sandbox', async () => {
    const verifying = await Verifying.of(await environments.make({ checks }))
    const id = await verifying.ask()
    await verifying.when(id, atB)
    await worker.kill('SIGKILL')
    const text = `update verifications set started_at = started_at - interval '23 hours' where id = $1`
    await test.db.database.query(text, [id])
    worker = await startServiceProcess(variables())
    expect(await verifying.ended(id)).toMatchObject({ state: 'errored', error: { code: 'apply_failed' } })
    expect(await verifying.left(id)).toEqual([])
  })

  it('its organization has room for ten', async () => {
    const made = await environments.make({ checks })
    const [first, second] = [await Verifying.of(made), await Verifying.of(made)]
    const id = await first.ask()
    await test.db.database.query(
      `insert into verifications (organization_id, session_id, id, request_hash, revision, tree, environment_id,
         environment_revision, state, checks_digest, requested_by_kind, requested_by_id, created_at)
       select organization_id, session_id, gen_random_uuid(), request_hash, revision, tree, environment_id,
         environment_revision, 'queued', checks_digest, requested_by_kind, requested_by_id, created_at
       from verifications, generate_series(2, $2) where id = $1`,
      [id, environmentLimits.verificationsOfOrganization],
    )
    expect(outcome(await second.put(randomUUID()))).toBe('409 quota_exceeded')
    expect((await test.api.call('DELETE', first.at.path(''))).status).toBe(204)
    await second.ask()
    expect((await test.api.call('DELETE', second.at.path(''))).status).toBe(204)
  })

  it('one that no worker takes up ends in half an hour, and makes room for others', async () => {
    const verifying = await Verifying.of(await environments.make({ checks }))
    await worker.kill('SIGKILL')
    const [id, later] = [await verifying.ask({ fresh: true }), await verifying.ask({ fresh: true })]
    const [chore] = verificationChores({ db: test.db.database, clock: systemClock, wakeups, log })
    const text = `update verifications set created_at = created_at - interval '31 minutes' where id = $1`
    await test.db.database.query(text, [id])
    await chore?.work(new AbortController().signal)
    expect(await verifying.read(id)).toMatchObject({ state: 'errored', error: { code: 'worker_unavailable' } })
    expect((await verifying.read(later)).state).toBe('queued')
    expect(await verifying.events(id)).toEqual([['svc.verification.completed', 'errored']])
    expect(await verifying.left(id)).toEqual([])
    worker = await startServiceProcess(variables())
    await verifying.when(later, atB)
    expect((await test.api.call('DELETE', verifying.at.path(''))).status).toBe(204)
  })

  it('the end of what it has written so far can be read', async () => {
    const run = `echo one; ${waitFor('../go')}; echo two`
    const verifying = await Verifying.of(await environments.make({ checks: [{ name: 'a', run }] }))
    const id = await verifying.ask()
    await verifying.when(id, ({ checks: [check] }) => check?.state === 'running' && check.outputTail === 'one\n')
    await verifying.go(id)
    expect(tails(await verifying.ended(id))).toEqual({ a: 'one\ntwo\n' })
  })

  it('a merge that waits until it is ready waits for it', async () => {
    const verifying = await Verifying.of(await environments.make({ checks }))
    const publication = await verifying.at.publish()
    const id = await verifying.ask()
    await verifying.when(id, atB)
    const now = await verifying.at.merge(publication.id, { strategy: 'merge' })
    expect(now.lastError?.code).toBe('merge_not_ready')
    const mergeId = randomUUID()
    await verifying.at.putMerge(publication.id, mergeId, { strategy: 'merge', mode: 'when_ready' })
    const read = () => verifying.at.readMerge(publication.id, mergeId)
    await until('a merge that waits', async () => (await read()).status === 'waiting')
    await verifying.go(id)
    await until('the merge', async () => (await read()).status === 'succeeded')
  })

  it('it can be cancelled, which gives its sandbox back and leaves others and ended ones as they are', async () => {
    const verifying = await Verifying.of(await environments.make({ checks }))
    const [id, other] = [await verifying.ask(), await verifying.ask({ fresh: true })]
    await verifying.when(id, atB)
    const cancel = (api = test.api) =>
      api.call<{ verification: Verification }>('DELETE', verifying.at.path(`/repository/verifications/${id}`))
    expect(outcome(await cancel((await test.newTenant()).api))).toBe('404 cloud_session_not_found')
    const cancelled = await cancel()
    expect([cancelled.status, cancelled.body.verification.state]).toEqual([200, 'cancelled'])
    expect((await cancel()).body).toEqual(cancelled.body)
    expect(await verifying.events(id)).toEqual([
      ['svc.verification.started', 'running'],
      ['svc.verification.completed', 'cancelled'],
    ])
    expect(await verifying.left(id)).toEqual([])
    await verifying.when(other, atB)
    await verifying.go(other)
    expect((await verifying.ended(other)).state).toBe('passed')
  })

  it('archiving the session cancels it, and its sandbox goes', async () => {
    const verifying = await Verifying.of(await environments.make({ checks }))
    const id = await verifying.ask()
    await verifying.when(id, atB)
    expect((await test.api.call('DELETE', verifying.at.path(''))).status).toBe(204)
    expect((await verifying.read(id)).state).toBe('cancelled')
    expect(await verifying.events(id)).toEqual([
      ['svc.verification.started', 'running'],
      ['svc.verification.completed', 'cancelled'],
    ])
    expect(await verifying.left(id)).toEqual([])
  })
})

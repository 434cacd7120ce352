import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { emptyTreeOid, type Session } from '@berth/contract'
import { Delivering, type Granted } from '@berth/testing/git/delivering.ts'
import { emptyLocalRepository } from '@berth/testing/git/local-repository.ts'
import { fileAt, tipOf } from '@berth/testing/git/repositories.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { activitiesOf, endedRun, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { gitText } from '../../src/git/run-git.ts'

let service: GatewayService
let count = 0
beforeAll(async () => {
  const variables = { BERTH_ROLES: 'api,gateway,worker' }
  service = await startGatewayService({ variables, models: { default: 'main/m1' } })
})
afterAll(() => service[Symbol.asyncDispose]())

const make = () => emptyLocalRepository(service.test, `later/r${++count}`, 'trunk')
const parentsOf = ({ gitDir }: Granted, oid: string) => gitText(['log', '-1', '--format=%P', oid], { gitDir })

/** Gives the sandbox of a Session back, and waits until nothing of it is left. */
async function giveBack({ api, session }: Delivering): Promise<void> {
  expect((await api.call('DELETE', `/v1/sessions/${session.id}/workspace`)).status).toBe(204)
  await until('a workspace that is gone', async () => (await api.session(session.id)).workspace.state !== 'attached')
}

/** Runs a script as a Turn of a Session, and returns what it printed. */
async function printed({ api, session }: Pick<Delivering, 'api' | 'session'>, script: string): Promise<string> {
  const { run } = await api.submitTurn(session.id, `cd /workspace/project\n${script}`)
  const ended = await endedRun(api, session, run.id)
  await until('a sealed run', async () => (await api.session(session.id)).phase === 'idle')
  expect(outcomeOf(ended)).toMatch(/^completed/)
  return activitiesOf(ended)
    .map(({ output }) => output)
    .join('')
}

/** Leaves a file as a person does at a terminal that has ended, before a seal has it. */
async function type({ session, project }: Delivering, name: string): Promise<void> {
  await writeFile(join(project, name), 'typed')
  await service.test.db.database.query(
    `insert into terminals (id, organization_id, session_id, lease_id, person_id, membership_id, sign_in_id, origin, columns,
       rows, state, awake_until, typed_at, seal_requested_at, created_at, ended_at)
     select gen_random_uuid(), organization_id, session_id, id, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '', 80,
       24, 'ended', now(), now(), 'infinity', now(), now()
     from leases where session_id = $1 and ended_at is null`,
    [session.id],
  )
}

/** Forks a Session, and runs a script as the fork's first own Turn. */
async function forkOf(from: Delivering, body: object, script: string): Promise<Delivering> {
  const { api } = from
  const answer = await api.call<{ session: Session }>('POST', from.path('/forks'), body)
  expect(answer.status).toBe(201)
  const { session } = answer.body
  const { run } = await api.submitTurn(session.id, `cd /workspace/project; ${script}`)
  return Delivering.of(service.test, { ...session, activeRunId: run.id })
}

it('a restored Session has its files, its index and its unborn branch, and makes the first commit', async () => {
  const at = await make()
  const session = await Delivering.begin(service.test, at)
  await session.shell('mkdir src; echo one > src/a; echo two > b; git add src')
  const { revision, headTree } = await session.review()
  await giveBack(session)
  const state = await printed(session, 'git symbolic-ref HEAD; git status --porcelain; cat src/a b')
  expect(state).toBe('refs/heads/trunk\nA  src/a\n?? b\none\ntwo\n')
  expect(await session.review()).toMatchObject({ revision, headTree, baseOid: emptyTreeOid })
  const first = await session.publish()
  const root = await tipOf(at.gitDir, 'trunk')
  expect(first.result).toEqual({ delivery: 'direct_branch', branch: 'trunk', commitSha: root })
  expect([await parentsOf(at, root), await gitText(['rev-parse', `${root}^{tree}`], { gitDir: at.gitDir })]).toEqual([
    '',
    headTree,
  ])

  // Nothing that the Session knew of its first commit is lost with the next sandbox.
  await giveBack(session)
  await session.shell('echo three >> b')
  const second = await session.publish()
  expect(second.result).toMatchObject({ branch: `svc/${session.session.id}`, pullRequest: { number: 1 } })
  expect(await parentsOf(at, second.result?.commitSha ?? '')).toBe(root)
  expect(await fileAt(at.gitDir, second.result?.commitSha ?? '', 'b')).toBe('two\nthree')
})

it('a second Turn goes on with the commits that the first one made beside its files', async () => {
  const at = await make()
  const session = await Delivering.begin(service.test, at)
  await session.shell('echo one > a; git add a; git -c user.name=a -c user.email=a@b commit -qm agent')
  expect(await printed(session, 'git log --format=%s; git status --porcelain; echo two >> a')).toBe('agent\n')
  const first = await session.publish()
  const root = await tipOf(at.gitDir, 'trunk')
  // The agent's own commit stays in its sandbox.
  expect([first.result?.commitSha, await parentsOf(at, root)]).toEqual([root, ''])
  expect(await fileAt(at.gitDir, root, 'a')).toBe('one\ntwo')
})

it('a fork goes on from the same empty repository, and only one of both makes the first commit', async () => {
  const at = await make()
  const session = await Delivering.begin(service.test, at)
  await session.shell('echo one > a')
  const fork = await forkOf(session, {}, 'git symbolic-ref HEAD; cat a; echo two >> a')
  expect(fork.session.source).toMatchObject({ baseBranch: 'trunk', baseOid: emptyTreeOid })
  expect(await gitText(['symbolic-ref', 'HEAD'], { gitDir: join(fork.project, '.git') })).toBe('refs/heads/trunk')
  const first = await fork.publish()
  const root = await tipOf(at.gitDir, 'trunk')
  expect(first.result).toEqual({ delivery: 'direct_branch', branch: 'trunk', commitSha: root })
  expect(await fileAt(at.gitDir, root, 'a')).toBe('one\ntwo')
  expect(await session.publish()).toMatchObject({ status: 'failed', lastError: { code: 'target_moved' } })
  expect(await tipOf(at.gitDir, 'trunk')).toBe(root)
})

it('a fork of the Session that made the first commit begins at it, and delivers what it changed since', async () => {
  const at = await make()
  const session = await Delivering.begin(service.test, at)
  await session.shell('echo one > a; echo two > b')
  const root = (await session.publish()).result?.commitSha ?? ''
  const one = await forkOf(session, {}, 'echo more >> a')
  const other = await forkOf(session, {}, 'rm b; echo three > c')
  expect(one.session.source).toMatchObject({ baseBranch: 'trunk', baseOid: root })
  const { files } = await other.review()
  expect(files.map(({ path, status }) => [path, status])).toEqual([
    ['b', 'deleted'],
    ['c', 'added'],
  ])
  const direct = await one.publish({ delivery: 'direct_branch' })
  expect(direct.result?.commitSha).toBe(await tipOf(at.gitDir, 'trunk'))
  expect(await parentsOf(at, 'trunk')).toBe(root)
  const published = await other.publish()
  expect(published.result?.pullRequest).toMatchObject({ number: 1, reused: false })
  expect(await parentsOf(at, published.result?.commitSha ?? '')).toBe(root)
  expect(await other.merge(published.id)).toMatchObject({ status: 'succeeded' })
  expect(await gitText(['ls-tree', '--name-only', 'trunk'], { gitDir: at.gitDir })).toBe('a\nc')
})

it.each(['a Run before', 'a Run after a reset', 'a Run before somebody typed'])(
  'a fork of %s deletes nothing of the first commit, which it does not have',
  async from => {
    const at = await make()
    const session = await Delivering.begin(service.test, at)
    const { id, activeRunId } = session.session
    await session.shell('echo one > a')
    if (from.includes('typed')) await type(session, 'typed')
    const root = (await session.publish()).result?.commitSha
    if (from.includes('reset')) {
      await session.shell('rm a')
      const text = 'update sessions set fresh_from_turn = turn_count - 1, first_run_started_at = now() where id = $1'
      await service.test.db.database.query(text, [id])
    }
    const fork = await forkOf(session, from === 'a Run before' ? { runId: activeRunId } : {}, 'echo two > b')
    expect(fork.session.source?.baseOid).toBe(emptyTreeOid)
    expect(await fork.publish()).toMatchObject({ status: 'failed', lastError: { code: 'target_moved' } })
    expect(await tipOf(at.gitDir, 'trunk')).toBe(root)
  },
)

it('the native agent works in it, and its changes make the first commit', async () => {
  const at = await make()
  const command = 'cd /workspace/project && git symbolic-ref HEAD && git status --short && echo hello > greeting'
  service.upstream.next(says({ calls: [{ name: 'bash', args: { command } }] }), says({ text: 'Greeted.' }))
  const { api } = service.test
  const source = { grantId: at.grantId, repositoryId: at.repository.repositoryId }
  const made = await api.createSession({ source }, 'Greet')
  const ended = await endedRun(api, made, made.activeRunId ?? '')
  expect(outcomeOf(ended)).toBe('completed completed - 1')
  expect(activitiesOf(ended)).toMatchObject([{ name: 'bash', status: 'succeeded', output: 'refs/heads/trunk\n' }])
  const session = await Delivering.of(service.test, made)
  const first = await session.publish()
  const root = await tipOf(at.gitDir, 'trunk')
  expect(first.result).toEqual({ delivery: 'direct_branch', branch: 'trunk', commitSha: root })
  expect(await gitText(['ls-tree', '--name-only', root], { gitDir: at.gitDir })).toBe('greeting')

  const more = { command: 'echo more >> /workspace/project/greeting' }
  service.upstream.next(says({ calls: [{ name: 'bash', args: more }] }), says({ text: 'More.' }))
  const { run } = await api.submitTurn(made.id, 'Once more')
  await Delivering.of(service.test, { ...made, activeRunId: run.id })
  const second = await session.publish()
  expect(await parentsOf(at, second.result?.commitSha ?? '')).toBe(root)
  expect(await fileAt(at.gitDir, second.result?.commitSha ?? '', 'greeting')).toBe('hello\nmore')
})

import { join } from 'node:path'
import type { Event, Session } from '@berth/contract'
import { Environments } from '@berth/testing/environments/environments.ts'
import { GitHubWorkers } from '@berth/testing/environments/github-workers.ts'
import { grantRepository } from '@berth/testing/git/grants.ts'
import { commitTo, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

let github: GitHubWorkers
beforeAll(async () => {
  github = await GitHubWorkers.start()
})
afterAll(() => github[Symbol.asyncDispose]())
afterEach(() => github.server.mend())

const appliesOf = (events: readonly Event[]) =>
  events.filter(({ type }) => type === 'svc.environment.apply').map(({ data }) => data)
const lastApply = (events: readonly Event[]) => appliesOf(events).at(-1)
const outputOf = (events: readonly Event[]) =>
  String(events.findLast(({ type }) => type === 'svc.activity.completed')?.data['output'])
const ended = (session: Session) => github.api.runEnded(session.id, session.activeRunId ?? '')
const run = async (script: string, repositories: object[], document: object = {}) =>
  ended(await github.begin(script, { repositories, ...document }))

let next = 1
/** Puts a repository into the data directory and grants it by name. */
async function local(fullName: string, isGranted = true): Promise<string> {
  const gitDir = await sampleRepository(join(github.test.dataDir, 'repositories'), fullName)
  const account = { host: 'local', provider: 'local', account: 'local', accountLogin: 'local' }
  const repository = { repositoryId: String(next++), fullName }
  if (isGranted) await grantRepository(github.test.db.database, github.test.tenant, account, repository)
  return gitDir
}

describe('a fresh sandbox', () => {
  it('gets the repositories without their blobs, before setup runs', async () => {
    await using _worker = await github.work()
    const { gitDir } = await github.grant('clone/private', '200')
    await commitTo(gitDir, 'side', await tipOf(gitDir, 'main'), { marked: 'side' })
    const open = await github.serve('open/public', '201')
    open.private = false
    await local('here/kept')
    const events = await run(
      `cat seen; cat private/marked; echo; git -C private config remote.origin.partialclonefilter
       ls -d */.git/hooks 2>/dev/null
       git -C private rev-list --objects --all --missing=print | grep -c '^?'
       git -C kept fetch -q && git -C kept log --oneline | wc -l; git -C kept push 2>&1 | grep -o 'error: 403'`,
      [
        { repository: 'clone/private', branch: 'side' },
        { repository: 'open/public', path: 'other' },
        { repository: 'here/kept' },
      ],
      { setup: 'ls > seen' },
    )
    expect(lastApply(events)).toMatchObject({
      status: 'succeeded',
      github: { status: 'granted', owners: ['clone'] },
      repositories: [
        { repository: 'clone/private', path: 'private', state: 'cloned' },
        { repository: 'open/public', path: 'other', state: 'cloned' },
        { repository: 'here/kept', path: 'kept', state: 'cloned' },
      ],
    })
    const [kept, other, private_, seen, marked, filter, missing, commits, refused] = outputOf(events).split('\n')
    expect([kept, other, private_, seen]).toEqual(['kept', 'other', 'private', 'seen'])
    expect([marked, filter, refused]).toEqual(['side', 'blob:none', 'error: 403'])
    expect(Number(missing)).toBeGreaterThan(0)
    expect(Number(commits)).toBeGreaterThan(0)
    expect(JSON.stringify(events)).not.toContain('ghs_')
  })

  it('keeps what a restored workspace has at a path, a dangling link too', async () => {
    await using _worker = await github.work()
    await github.grant('keep/one', '210')
    await github.grant('keep/two', '210')
    const repositories = [{ repository: 'keep/one' }]
    const environment = await new Environments(github.api).make({ github: true, repositories })
    const bound = { runtime: 'shell', environment: { id: environment.id } }
    const session = await github.api.createSession(bound, 'echo mine > one/mine; ln -s /nowhere two')
    await ended(session)
    await until('a sealed run', async () => (await github.api.session(session.id)).phase === 'idle')
    const more = [...repositories, { repository: 'keep/two' }]
    const { name } = environment
    await new Environments(github.api).put(environment.id, { name, github: true, repositories: more }, 1)
    expect((await github.api.call('DELETE', `/v1/sessions/${session.id}/workspace`)).status).toBe(204)
    const { run: next } = await github.api.submitTurn(session.id, 'cat one/mine; readlink two')
    const events = await github.api.runEnded(session.id, next.id)
    expect(outputOf(events)).toBe('mine\n/nowhere\n')
    expect(lastApply(events)?.['repositories']).toEqual([
      { repository: 'keep/one', path: 'one', state: 'kept' },
      { repository: 'keep/two', path: 'two', state: 'kept' },
    ])
  })

  it('of a Session with a launch repository skips the list', async () => {
    await using _worker = await github.work()
    const granted = await github.grant('launch/one', '220')
    const grant = await github.connect(granted, '220', github.test.tenant)
    const environment = await new Environments(github.api).make({
      github: true,
      repositories: [{ repository: 'launch/one', path: 'again' }, { repository: 'nobody/none' }],
    })
    const { body } = await github.api.get<{ grants: { id: string; fullName: string }[] }>('/v1/repository-grants')
    const grantId = body.grants.find(({ fullName }) => fullName === 'launch/one')?.id ?? grant.id
    const source = { grantId, repositoryId: String(granted.id) }
    const session = await github.api.createSession(
      { runtime: 'shell', source, environment: { id: environment.id } },
      'ls ..',
    )
    const events = await ended(session)
    expect(lastApply(events)?.['repositories']).toEqual([
      { repository: 'launch/one', path: 'again', state: 'skipped' },
      { repository: 'nobody/none', path: 'none', state: 'skipped' },
    ])
    expect(outputOf(events)).toBe('project\n')
  })
})

describe('a sandbox that fetches much at once', () => {
  it('waits for its turn, and every fetch is answered', async () => {
    await using _worker = await github.work()
    await local('here/busy')
    const refs = 'http://127.0.0.1:3128/_berth/git/local/here/busy.git/info/refs?service=git-upload-pack'
    const events = await run(
      `for n in 1 2 3 4 5 6 7 8 9 10 11 12; do curl -s --noproxy '*' -o /dev/null -w '%{http_code}\n' '${refs}' & done
       wait`,
      [],
    )
    expect(outputOf(events)).toBe('200\n'.repeat(12))
  })
})

describe('an apply', () => {
  it('fails with the first clone that fails, and tells how far the others came', async () => {
    await using _worker = await github.work()
    await github.grant('fails/one', '230')
    await github.serve('hidden/two', '231')
    const events = await run('true', [
      { repository: 'fails/one' },
      { repository: 'hidden/two' },
      ...['a', 'b', 'c'].map(name => ({ repository: `nobody/${name}` })),
    ])
    expect(lastApply(events)).toMatchObject({ status: 'failed', errorCode: 'repository_clone_failed' })
    const repositories = lastApply(events)?.['repositories'] as { repository: string; state: string }[]
    expect(repositories.filter(({ state }) => state === 'failed')).toHaveLength(1)
    expect(lastApply(events)?.['outputTail']).toMatch(/no account of (hidden|nobody) is connected/)
    expect(events.at(-1)).toMatchObject({
      type: 'svc.run.failed',
      data: { stopReason: 'error', errorCode: 'environment_setup_failed' },
    })
    expect(events.some(({ type }) => type === 'svc.run.started')).toBe(false)
  })

  it('stops clones at their bound, with one result whichever worker is there', async () => {
    const first = await github.work({ cloneMs: 4000 })
    await github.grant('slow/one', '240')
    github.server.fail({ when: /slow\/one\.git/, answer: 'never' })
    const session = await github.begin('true', { repositories: [{ repository: 'slow/one' }] })
    await until('a clone', () => github.server.requests.some(line => line.includes('slow/one.git')))
    await first[Symbol.asyncDispose]()
    await using _second = await github.work()
    const events = await ended(session)
    expect(appliesOf(events).map(({ status }) => status)).toEqual(['started', 'failed'])
    expect(lastApply(events)).toMatchObject({
      errorCode: 'repository_clone_failed',
      repositories: [{ repository: 'slow/one', path: 'one', state: 'failed' }],
    })
    const fetches = github.server.requests.filter(line => line.includes('slow/one.git/info/refs'))
    expect(fetches).toHaveLength(1)
  })

  it("clones nothing of the data directory that the Session's owner was not granted", async () => {
    await using _worker = await github.work()
    await local('here/closed', false)
    await local('here/open')
    const base = 'http://127.0.0.1:3128/_berth/git/local'
    const events = await run(
      `git ls-remote ${base}/here/open.git HEAD | wc -l
       git ls-remote ${base}/here/closed.git 2>&1 | grep -o 'not found'
       curl -s --noproxy '*' --path-as-is ${base}/../../../master.key; curl -s ${base}/here/open.git/config`,
      [],
    )
    expect(outputOf(events).split('\n')).toEqual([
      '1',
      'not found',
      expect.stringMatching(/^no repository /),
      'here/open can only be read here; publish the changes instead',
      '',
    ])
    expect((await run('true', [{ repository: 'here/closed' }])).at(-1)?.type).toBe('svc.run.failed')
  })
})

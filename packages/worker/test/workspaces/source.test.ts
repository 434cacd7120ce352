import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import { gitText, runGit } from '@berth/core/git/run-git.ts'
import { replaceGrant, revokeGrant } from '@berth/core/repositories/end-grants.ts'
import { grantLocal } from '@berth/core/repositories/grant-local.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { GitHubServer } from '@berth/testing/git/github-server.ts'
import { grantRepository } from '@berth/testing/git/grants.ts'
import { commitTo, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { activitiesOf, type EndedRun, endedRun, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { leaseDirectory, leaseOf } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
let server: GitHubServer
const context = () => ({ db: test.db.database, clock: systemClock })

beforeAll(async () => {
  server = await GitHubServer.start()
  const gitHosts = [{ kind: 'github', baseUrl: server.url, appId: server.appId, privateKey: server.privateKey }]
  test = await startTestService({ config: { gitHosts } })
})
afterAll(async () => {
  await test[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

let next = 0
/** Makes a repository on the GitHub server and grants it to the tenant. */
async function repository(build: (gitDir: string) => Promise<unknown> = async () => undefined) {
  const id = 200 + next++
  const gitDir = await sampleRepository(join(test.dataDir, 'served'), `o/r${id}`)
  await build(gitDir)
  const served = server.addRepository({ id, fullName: `o/r${id}`, gitDir, installations: [String(id)] })
  const account = {
    ...{ host: `github:${new URL(server.url).host}`, provider: 'github', account: String(id), accountLogin: 'o' },
  }
  const named = { repositoryId: String(id), fullName: served.fullName }
  const grant = await grantRepository(test.db.database, test.tenant, account, named)
  return { gitDir, served, grant, account, named, source: { grantId: grant.id, repositoryId: String(id) } }
}

async function run(session: Session, runId = session.activeRunId ?? ''): Promise<EndedRun> {
  const ended = await endedRun(test.api, session, runId, 60_000)
  await until('the end of sealing', async () => (await test.api.session(session.id)).phase === 'idle')
  return ended
}

const output = (ended: EndedRun) => String(activitiesOf(ended).at(-1)?.output)
const start = (source: object, script: string) => test.api.createSession({ runtime: 'shell', source }, script)

async function then(session: Session, script: string): Promise<EndedRun> {
  const { run: made } = await test.api.submitTurn(session.id, script)
  return run(session, made.id)
}

/** Ends the lease as if it had expired. */
async function expire(session: Session): Promise<void> {
  await test.db.database.query("update leases set expires_at = 'epoch' where session_id = $1 and ended_at is null", [
    session.id,
  ])
  // The sweeper itself looks only every ten seconds.
  await test.db.database.query("select pg_notify('berth', $1)", [`test\n${topics.leases}`])
  await until('an expired workspace', async () => (await test.api.session(session.id)).workspace.state === 'expired')
}

const mirrors = async () => (await readdir(join(test.dataDir, 'mirrors'))).filter(name => name.endsWith('.git'))

describe('a session on a repository', () => {
  it('begins in a clone at its base, which tracks the branch and holds no credential', async () => {
    const { source, gitDir, served } = await repository()
    const base = await tipOf(gitDir, 'main')
    const session = await start(
      source,
      `pwd; git rev-parse HEAD; git status --short --branch; git log --oneline | wc -l; git describe; ./test.sh
       readlink words; stat -c %u . .git/config | sort -u | wc -l; git fsck 2>&1 | grep -v dangling; git config remote.origin.url
       git rev-parse origin/main; touch /opt/source/objects/x 2>/dev/null || echo read-only
       { env; cat /proc/*/environ /proc/*/cmdline /proc/*/mountinfo; cat .git/config; find / -xdev -name '*.git' ; } 2>/dev/null | tr '\\0' '\\n' > /tmp/all
       grep -c -e ghs_ -e x-access-token -e extraHeader /tmp/all`,
    )
    expect(session.source).toMatchObject({ kind: 'github', baseBranch: 'main', baseOid: base })
    const lines = output(await run(session))
      .trim()
      .split('\n')
    expect(lines).toEqual([
      ...['/workspace/project', base, '## main...origin/main', '6', expect.stringMatching(/^v1\.0-1-g/), 'ok'],
      ...['lib/words.txt', '1', `${server.url}/${served.fullName}.git`, base, 'read-only', '0'],
    ])
  })

  it('shares downloads: a second session downloads nothing, and two at once download once', async () => {
    const big = await repository(async gitDir => {
      const noise = Array.from({ length: 40_000 }, () => Math.random().toString(36)).join('\n')
      await commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), { noise })
    })
    const before = server.gitBytes
    const both = await Promise.all([start(big.source, 'wc -c < noise'), start(big.source, 'wc -c < noise')])
    for (const session of both) expect(outcomeOf(await run(session))).toBe('completed completed - 1')
    const once = server.gitBytes - before
    const whole = await gitText(['count-objects', '-v'], { gitDir: big.gitDir })
    expect(once).toBeLessThan(Number(whole.match(/size: (\d+)/)?.[1]) * 1024 * 1.5)
    expect(outcomeOf(await run(await start(big.source, 'git log -1')))).toBe('completed completed - 1')
    expect(server.gitBytes - before).toBe(once)
    const moved = await commitTo(big.gitDir, 'main', await tipOf(big.gitDir, 'main'), { small: 'change' })
    expect(output(await run(await start(big.source, 'git rev-parse HEAD')))).toBe(`${moved}\n`)
    expect(server.gitBytes - before - once).toBeLessThan(20_000)
  })

  it('continues in a fresh sandbox with its commits even if the mirror is gone', async () => {
    const { source, gitDir } = await repository()
    const session = await start(
      source,
      'git switch -qc mine; echo 1 > new; git add new; git commit -qm new; echo 2 > dirty',
    )
    await run(session)
    await expire(session)
    const known = await mirrors()
    for (const name of known) await rm(join(test.dataDir, 'mirrors', name), { recursive: true })
    // The branch has moved on meanwhile, past the commit that pins the session.
    await commitTo(gitDir, 'main', `${await tipOf(gitDir, 'main')}~1`, { other: 'history' })
    const again = await then(
      session,
      'git status --short --branch; git log --oneline | wc -l; git fsck --connectivity-only',
    )
    expect(output(again)).toBe('## mine\n?? dirty\n7\n')
  })

  it('is repaired if the mirror is broken', async () => {
    const { source } = await repository()
    await run(await start(source, 'true'))
    const before = new Set(await mirrors())
    for (const name of before) {
      const packs = join(test.dataDir, 'mirrors', name, 'objects')
      for (const file of await readdir(packs, { recursive: true, withFileTypes: true })) {
        if (file.isFile()) await writeFile(join(file.parentPath, file.name), 'x'.repeat(64))
      }
    }
    expect(output(await run(await start(source, './greet.sh again')))).toBe('Hello, again\n')
  })

  it('waits for a host that is away, and ends with a code if it stays away', async () => {
    const away = await repository()
    server.fail({ when: /^GET \/o\/.*git-upload-pack|^GET \/o\/.*info\/refs/, answer: { status: 503 }, times: 2 })
    expect(outcomeOf(await run(await start(away.source, 'true')))).toBe('completed completed - 1')
    const gone = await repository()
    const idle = await test.api.createSession({ runtime: 'shell', source: gone.source })
    server.removeRepository(gone.served.id)
    const ended = await then(idle, 'true')
    expect(outcomeOf(ended)).toMatch(/^failed error source_unavailable/)
    expect((await test.api.session(idle.id)).continuation).toMatchObject({ canContinue: true, state: 'fresh' })
    server.mend()
  })

  it('cannot continue while its repository is unavailable, until it is granted again', async () => {
    const { source, grant, account, named } = await repository()
    const session = await start(source, 'echo kept > kept')
    await run(session)
    await expire(session)
    await revokeGrant(context(), test.tenant, grant.id)
    expect(outcomeOf(await then(session, 'cat kept'))).toMatch(/^failed error source_unavailable/)
    const { continuation } = await test.api.session(session.id)
    expect(continuation).toMatchObject({ canContinue: false, state: 'unavailable', reason: 'source_unavailable' })
    const refused = await test.api.call('PUT', `/v1/sessions/${session.id}/workspace`)
    expect(refused.body.error).toBe('cloud_resume_unavailable')
    const other = await grantRepository(test.db.database, test.tenant, account, named)
    await test.db.database.query('update repository_grants set revoked_at = null, replaced_by = $2 where id = $1', [
      grant.id,
      other.id,
    ])
    expect(output(await then(session, 'cat kept'))).toBe('kept\n')
    expect(await replaceGrant(test.db.database, test.tenant, grant.id, other.id)).toBe(false)
  })
})

describe('a hostile repository', () => {
  it('executes nothing when it is checked out', async () => {
    const marks = '/tmp/berth-hostile'
    const { source } = await repository(async gitDir => {
      const base = await tipOf(gitDir, 'main')
      await commitTo(gitDir, 'main', base, {
        '.gitattributes': '* filter=evil diff=evil merge=evil\n*.bin filter=lfs\n',
        '.gitmodules': `[submodule "a"]\n\tpath = a\n\turl = ext::sh -c "touch ${marks}-submodule"\n\tupdate = !touch ${marks}-update\n`,
        '.lfsconfig': `[lfs]\n\turl = http://127.0.0.1:1/\n`,
        'big.bin': 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n',
      })
      // Configuration of the remote must affect only the remote.
      await writeFile(join(gitDir, 'config'), `[core]\n\tbare = true\n\tfsmonitor = touch ${marks}-fsmonitor\n`)
    })
    const ended = await run(
      await start(source, `cat big.bin | head -1; ls ${marks}* 2>/dev/null | wc -l; cat .git/config`),
    )
    expect(output(ended)).toMatch(/^version https:\/\/git-lfs.*\n0\n/)
    expect(output(ended)).not.toMatch(/filter|submodule|hooks/i)
    expect((await readdir('/tmp')).filter(name => name.startsWith('berth-hostile'))).toEqual([])
  })

  it.each(['.git', '.GIT', 'git~1', '..', '.gitmodules'])(
    'with %s in its tree is refused and writes nothing outside',
    async name => {
      const { source } = await repository(async gitDir => {
        const blob = await gitText(['hash-object', '-w', '--stdin'], { gitDir, input: 'evil' })
        // As a link, `.gitmodules` would be followed by any program that looks for submodules.
        const mode = name === '.gitmodules' ? '120000' : '100644'
        const tree = Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(blob, 'hex')])
        const args = ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin']
        const oid = await gitText(args, { gitDir, input: tree })
        const env = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a' }
        const commit = await gitText(['commit-tree', '-m', 'evil', oid], { gitDir, env })
        await runGit(['update-ref', 'refs/heads/main', commit], { gitDir })
      })
      const ended = await run(await start(source, 'true'))
      expect(outcomeOf(ended)).toMatch(/^failed error source_unavailable/)
    },
  )

  it.each([
    ['one file', 1],
    ['many files, which several gits write', 300],
  ])(
    'with a name that no file system takes, and %s, ends the run with that path and keeps the mirror',
    async (_, count) => {
      const name = `long-${'n'.repeat(300)}`
      const { source } = await repository(async gitDir => {
        const files = Object.fromEntries(Array.from({ length: count }, (__, at) => [`file-${at}`, `${at}`]))
        await commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), { ...files, [name]: 'x' })
      })
      const before = new Set(await mirrors())
      const ended = await run(await start(source, 'true'))
      expect(outcomeOf(ended)).toMatch(/^failed error source_unavailable/)
      expect(ended.run.result?.summary).toMatch(/^the repository cannot be checked out: .*long-nnn/)
      expect((await mirrors()).filter(mirror => !before.has(mirror))).toEqual([
        expect.stringMatching(/^[0-9a-f]{40}\.git$/),
      ])
    },
  )

  it('cannot write through its own symbolic link', async () => {
    const { source } = await repository(async gitDir => {
      const link = await gitText(['hash-object', '-w', '--stdin'], { gitDir, input: '/home/agent' })
      const file = await gitText(['hash-object', '-w', '--stdin'], { gitDir, input: 'evil' })
      const inner = await gitText(['mktree'], { gitDir, input: `100644 blob ${file}\t.bashrc\n` })
      // On a case-sensitive file system these are two files; git writes neither through the other.
      const tree = await gitText(['mktree'], { gitDir, input: `120000 blob ${link}\tA\n040000 tree ${inner}\ta\n` })
      const env = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a' }
      await runGit(
        ['update-ref', 'refs/heads/main', await gitText(['commit-tree', '-m', 'x', tree], { gitDir, env })],
        { gitDir },
      )
    })
    expect(output(await run(await start(source, 'ls -A /home/agent | wc -l; cat a/.bashrc')))).toBe('0\nevil')
  })
})

describe('the development tenant', () => {
  it('works on a repository of the data directory', async () => {
    const gitDir = await sampleRepository(join(test.dataDir, 'repositories'))
    await grantLocal(context(), test.tenant)
    // One page of repositories asks at most ten hosts, and this tenant has more.
    const { body } = await test.api.get<{ grants: { id: string; repositoryId: string; provider: string }[] }>(
      '/v1/repository-grants?limit=100',
    )
    const found = body.grants.find(one => one.provider === 'local')
    const session = await start(
      { grantId: found?.id, repositoryId: found?.repositoryId },
      './test.sh; git rev-parse HEAD; git status -sb; git config remote.origin.url || echo unserved',
    )
    expect(output(await run(session))).toBe(`ok\n${await tipOf(gitDir, 'main')}\n## main...origin/main\nunserved\n`)
    expect(await readdir(leaseDirectory(test.dataDir, await leaseOf(test.db.database, session)))).not.toContain(
      'mirror',
    )
  })
})

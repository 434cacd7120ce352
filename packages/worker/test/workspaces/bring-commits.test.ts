import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Run } from '@berth/contract'
import { runGit } from '@berth/core/git/run-git.ts'
import { admitTurn } from '@berth/core/sessions/turns/admit-turn.ts'
import type { Bring } from '@berth/core/sessions/turns/bring.ts'
import { sessionOnRepository } from '@berth/testing/console/reviewed-session.ts'
import { Delivering } from '@berth/testing/git/delivering.ts'
import { commitTo, fileAt, tipOf } from '@berth/testing/git/repositories.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecutionContext } from '../../src/claim/execution-context.ts'

const stack = new AsyncDisposableStack()
let test: TestService
let context: ExecutionContext
let count = 0
beforeAll(async () => {
  test = stack.use(await startTestService())
  context = await workerContext(test, stack)
})
afterAll(() => stack.disposeAsync())

const lines = (...changed: readonly string[]) =>
  Array.from({ length: 20 }, (_, index) => `${changed[index] ?? `line ${index}`}\n`).join('')

interface Place {
  readonly at: Delivering
  readonly gitDir: string
}

/** Begins a Session on a repository of its own. */
async function begin(files: Readonly<Record<string, string>> = {}): Promise<{ at: Delivering; gitDir: string }> {
  const name = `sample/brought-${++count}`
  const at = await sessionOnRepository(test, name, { file: lines(), other: lines(), ...files })
  return { at, gitDir: join(test.dataDir, 'repositories', `${name}.git`) }
}

/** Admits a Turn of the service's own, and waits until its Run is sealed. */
async function turn({ at }: Pick<Place, 'at'>, bring: readonly Bring[], script = 'true'): Promise<Run> {
  const principal = {
    kind: 'app_installation' as const,
    id: test.tenant.installationId,
    organizationId: test.tenant.organizationId,
    capabilities: new Set([]),
    expiresAt: null,
  }
  const message = `cd /workspace/project\n${script}`
  const { run } = await admitTurn(context, principal, keyOf(at.session), randomUUID(), { message }, { bring })
  await at.api.runEnded(at.session.id, run.id)
  await until('a sealed run', async () => (await at.api.session(at.session.id)).phase === 'idle')
  return at.api.run(at.session.id, run.id)
}

const read = ({ at }: Pick<Place, 'at'>, path: string) => readFile(join(at.project, path), 'utf8')
const parentsOf = async (gitDir: string, oid: string) =>
  (await runGit(['rev-list', '--parents', '-n', '1', oid], { gitDir })).stdout.toString().trim().split(' ').slice(1)
const pathsOf = (review: Awaited<ReturnType<Delivering['review']>>) => review.files.map(({ path }) => path)

describe('the base of a pull request that moved', () => {
  it('comes into the files, and the review and the pull request hold the change of the Session alone', async () => {
    const place = await begin()
    const { at, gitDir } = place
    await at.shell('sed -i "1s/.*/mine/" file; echo new > mine; git add mine')
    const first = await at.publish({ title: 'Change it' })
    const head = first.result?.commitSha ?? ''
    const branch = first.result?.branch ?? ''
    const moved = await commitTo(gitDir, 'main', at.baseOid, { file: lines(...Array(19), 'theirs'), theirs: 'new\n' })
    const run = await turn(
      place,
      [{ kind: 'base', oid: moved }],
      'git rev-parse origin/main > seen; git diff --stat origin/main >> seen; mv seen /tmp',
    )
    expect(run.status).toBe('completed')
    expect(await read(place, 'file')).toBe(lines('mine', ...Array(18), 'theirs'))
    expect(await read(place, 'theirs')).toBe('new\n')
    const review = await at.review()
    expect([review.baseOid, pathsOf(review), review.additions, review.deletions]).toEqual([
      moved,
      ['file', 'mine'],
      2,
      1,
    ])
    const events = await at.api.events(at.session.id)
    expect(events.filter(({ data }) => data['name'] === 'bring')).toMatchObject([
      { data: { title: expect.stringContaining(`main at ${moved.slice(0, 12)}`) } },
    ])

    const second = await at.publish({ branch })
    expect(second).toMatchObject({ status: 'succeeded', result: { branch, pullRequest: { reused: true } } })
    const tip = await tipOf(gitDir, branch)
    expect(await parentsOf(gitDir, tip)).toEqual([head, moved])
    // The branch holds the base now, so the next commit has one parent.
    await at.shell('echo more >> mine')
    await at.publish({ branch })
    expect(await parentsOf(gitDir, await tipOf(gitDir, branch))).toEqual([tip])
    expect(await fileAt(gitDir, branch, 'theirs')).toBe('new')
  })

  it('stays the base after a restore and in a fork, which has a branch of its own on it', async () => {
    const place = await begin()
    const { at, gitDir } = place
    await at.shell('echo mine > mine')
    const moved = await commitTo(gitDir, 'main', at.baseOid, { theirs: 'new\n' })
    await turn(place, [{ kind: 'base', oid: moved }])
    expect((await at.api.call('DELETE', at.path('/workspace'))).status).toBe(204)
    await at.shell('git cat-file -e refs/remotes/origin/main^{commit} && echo again >> mine')
    const review = await at.review()
    expect([review.baseOid, pathsOf(review)]).toEqual([moved, ['mine']])
    const { body } = await at.api.call<{ session: typeof at.session }>('POST', at.path('/forks'), {})
    const { run } = await at.api.submitTurn(body.session.id, 'cd /workspace/project; echo forked >> mine')
    const fork = await Delivering.of(test, { ...body.session, activeRunId: run.id })
    expect([(await fork.review()).baseOid, pathsOf(await fork.review())]).toEqual([moved, ['mine']])
    const published = await fork.publish()
    expect(await parentsOf(gitDir, published.result?.commitSha ?? '')).toEqual([moved])
  })

  it('leaves conflicts in the files for the agent, which resolves them', async () => {
    const place = await begin({ gone: lines(), bin: 'a\0b' })
    const { at, gitDir } = place
    await at.shell('sed -i "1s/.*/mine/" file; sed -i "1s/.*/kept/" gone; printf "m\\0b" > bin; git mv other renamed')
    const { result } = await at.publish()
    const moved = await commitTo(gitDir, 'main', at.baseOid, {
      ...{ file: lines('theirs'), gone: null, bin: 't\0b', other: lines(...Array(9), 'in the renamed') },
    })
    await turn(place, [{ kind: 'base', oid: moved }])
    expect(await read(place, 'file')).toContain('<<<<<<< work\nmine\n=======\ntheirs\n>>>>>>> base\n')
    expect([await read(place, 'gone'), await read(place, 'bin')]).toEqual([lines('kept'), 'm\0b'])
    expect([await read(place, 'renamed'), existsSync(join(at.project, 'other'))]).toEqual([
      lines(...Array(9), 'in the renamed'),
      false,
    ])
    const { rows } = await test.db.database.query<{ brought: { conflicts: object[]; conflictCount: number } }>(
      'select brought from leases where session_id = $1 and ended_at is null',
      [at.session.id],
    )
    expect(rows[0]?.brought).toMatchObject({
      conflictCount: 3,
      conflicts: [
        { path: 'bin', kind: 'binary' },
        { path: 'file', kind: 'contents' },
        { path: 'gone', kind: 'modify/delete' },
      ],
    })
    await at.shell('sed -i "/^<<<<<<<\\|^=======\\|^>>>>>>>/d" file; rm gone; printf "t\\0b" > bin')
    const second = await at.publish({ branch: result?.branch })
    expect(pathsOf(await at.review())).toEqual(['file', 'renamed'])
    expect(await parentsOf(gitDir, second.result?.commitSha ?? '')).toEqual([result?.commitSha, moved])
  })

  it('comes in although it was rewritten, or is gone from the host', async () => {
    const place = await begin()
    const { at, gitDir } = place
    const dropped = await commitTo(gitDir, 'main', at.baseOid, { dropped: 'x\n' })
    await turn(place, [{ kind: 'base', oid: dropped }], 'echo mine > mine')
    const rewritten = await commitTo(gitDir, 'main', at.baseOid, { kept: 'y\n' })
    const absent = 'f'.repeat(40)
    await turn(place, [{ kind: 'base', oid: absent }])
    const review = await at.review()
    expect([review.baseOid, pathsOf(review), existsSync(join(at.project, 'dropped'))]).toEqual([
      rewritten,
      ['mine'],
      false,
    ])
  })
})

describe('a person who updates from the base', () => {
  it('gets its newest commits into the files before the agent begins, and publishes on top of them', async () => {
    const place = await begin()
    const { at, gitDir } = place
    await at.shell('sed -i "1s/.*/mine/" file')
    const { result } = await at.publish()
    const first = await commitTo(gitDir, 'main', at.baseOid, { one: '1\n' })
    const newest = await commitTo(gitDir, 'main', first, { two: '2\n' })
    const { run } = await at.api.submitTurn(at.session.id, 'cat /workspace/project/two', { updateFromBase: true })
    await at.api.runEnded(at.session.id, run.id)
    await until('a sealed run', async () => (await at.api.session(at.session.id)).phase === 'idle')
    const review = await at.review()
    expect([review.baseOid, pathsOf(review)]).toEqual([newest, ['file']])
    const second = await at.publish({ branch: result?.branch })
    expect(await parentsOf(gitDir, second.result?.commitSha ?? '')).toEqual([result?.commitSha, newest])
  })

  it('publishes no marks of a conflict, and pushes once they are gone', async () => {
    const place = await begin()
    const { at, gitDir } = place
    await at.shell('sed -i "1s/.*/mine/" file; echo "<<<<<<< HEAD" > notes; echo "see <<<<<<< work" >> notes')
    const { result } = await at.publish()
    const branch = result?.branch ?? ''
    await commitTo(gitDir, 'main', at.baseOid, { file: lines('theirs') })
    const { run } = await at.api.submitTurn(at.session.id, 'true', { updateFromBase: true })
    await at.api.runEnded(at.session.id, run.id)
    await until('a sealed run', async () => (await at.api.session(at.session.id)).phase === 'idle')
    expect(await read(place, 'file')).toContain('<<<<<<< work\nmine\n')
    const refused = await at.publish({ branch })
    expect(refused).toMatchObject({ status: 'failed', lastError: { code: 'conflict_markers' } })
    expect(await tipOf(gitDir, branch)).toBe(result?.commitSha)
    await at.shell('sed -i "/^<<<<<<<\\|^=======\\|^>>>>>>>/d" file')
    expect(await at.publish({ branch })).toMatchObject({ status: 'succeeded' })
  })

  it('asks for it with a Turn that begins a Run, in a Session with a repository', async () => {
    const { at } = await begin()
    const put = (sessionId: string, more: object) =>
      test.api.put(`/v1/sessions/${sessionId}/turns/${randomUUID()}`, { message: 'm', updateFromBase: true, ...more })
    const bare = await test.api.createSession({ runtime: 'shell' })
    for (const refused of [
      await put(at.session.id, { mode: 'steer' }),
      await put(at.session.id, { replyTo: { interactionId: 'i' } }),
      await put(bare.id, {}),
    ]) {
      expect([refused.status, refused.body]).toMatchObject([400, { issues: [{ path: ['updateFromBase'] }] }])
    }
  })
})

describe('commits that somebody else pushed', () => {
  it('are taken into the files, and the next commit goes on top of them', async () => {
    const place = await begin()
    const { at, gitDir } = place
    await at.shell('sed -i "1s/.*/mine/" file')
    const { result } = await at.publish()
    const branch = result?.branch ?? ''
    const theirs = await commitTo(gitDir, branch, result?.commitSha ?? '', { other: lines('theirs') })
    await turn(place, [{ kind: 'pushed', oid: theirs }], 'echo more > more')
    const review = await at.review()
    expect([review.baseOid, pathsOf(review)]).toEqual([at.baseOid, ['file', 'more', 'other']])
    const second = await at.publish({ branch })
    expect(await parentsOf(gitDir, second.result?.commitSha ?? '')).toEqual([theirs])
    expect(second.result?.pullRequest).toMatchObject({ reused: true })
    // With nothing brought since, their next commits are in the way as before.
    await commitTo(gitDir, branch, await tipOf(gitDir, branch), { other: lines('again') })
    await at.shell('echo yet >> more')
    expect(await at.publish({ branch })).toMatchObject({ status: 'failed', lastError: { code: 'branch_moved' } })
  })

  it('move the base too if they merged it', async () => {
    const place = await begin()
    const { at, gitDir } = place
    await at.shell('sed -i "1s/.*/mine/" file')
    const { result } = await at.publish()
    const branch = result?.branch ?? ''
    const moved = await commitTo(gitDir, 'main', at.baseOid, { theirs: 'new\n' })
    const update = await commitTo(gitDir, branch, result?.commitSha ?? '', { theirs: 'new\n' })
    const tree = `${update}^{tree}`
    const env = { GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@b' }
    const args = ['commit-tree', '-p', result?.commitSha ?? '', '-p', moved, '-m', 'Update branch', tree]
    const merged = (await runGit(args, { gitDir, env })).stdout.toString().trim()
    await runGit(['update-ref', `refs/heads/${branch}`, merged], { gitDir })
    const newest = await commitTo(gitDir, 'main', moved, { newest: 'x\n' })
    await turn(place, [{ kind: 'pushed', oid: merged }])
    expect([(await at.review()).baseOid, pathsOf(await at.review())]).toEqual([moved, ['file']])
    await turn(place, [{ kind: 'base', oid: newest }])
    const second = await at.publish({ branch })
    expect(await parentsOf(gitDir, second.result?.commitSha ?? '')).toEqual([merged, newest])
  })

  it('that conflict are not given to the agent, and the workspace is as before', async () => {
    const place = await begin()
    const { at, gitDir } = place
    await at.shell('sed -i "1s/.*/mine/" file')
    const { result } = await at.publish()
    await at.shell('sed -i "1s/.*/mine again/" file')
    const theirs = await commitTo(gitDir, result?.branch ?? '', result?.commitSha ?? '', { file: lines('theirs') })
    const moved = await commitTo(gitDir, 'main', at.baseOid, { theirs: 'new\n' })
    const both: Bring[] = [
      { kind: 'pushed', oid: theirs },
      { kind: 'base', oid: moved },
    ]
    const run = await turn(place, both, 'echo ran > ran')
    expect(run).toMatchObject({ status: 'failed', errorCode: 'push_conflict' })
    expect([await read(place, 'file'), existsSync(join(at.project, 'ran'))]).toEqual([lines('mine again'), false])
    expect([(await at.review()).baseOid, existsSync(join(at.project, 'theirs'))]).toEqual([at.baseOid, false])
  })
})

describe('a merge in a workspace', () => {
  it('runs nothing of the repository, writes as its attributes say, and follows no link', async () => {
    const place = await begin({
      '.gitattributes': '* merge=evil\n*.flt filter=evil\n*.crlf text eol=crlf\n',
      'x.flt': 'one\n',
      'a.crlf': 'one\ntwo\nthree\n',
    })
    const { at, gitDir } = place
    const evil = 'touch /workspace/ran; cat'
    await at.shell(`
      mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch /workspace/ran\\n' > .git/hooks/post-checkout; cp .git/hooks/post-checkout .git/hooks/reference-transaction
      chmod +x .git/hooks/*
      git config merge.evil.driver '${evil} %A'; git config filter.evil.smudge '${evil}'; git config core.fsmonitor '${evil}'
      ln -s /workspace outside; sed -i "1s/.*/mine/" file; sed -i 's/one/mine/' a.crlf`)
    const moved = await commitTo(gitDir, 'main', at.baseOid, {
      'a.crlf': 'one\ntwo\ntheirs\n',
      file: lines(...Array(19), 'theirs'),
      'x.flt': 'two\n',
    })
    expect((await turn(place, [{ kind: 'base', oid: moved }])).status).toBe('completed')
    expect(await read(place, 'a.crlf')).toBe('mine\r\ntwo\r\ntheirs\r\n')
    expect(await read(place, 'file')).toBe(lines('mine', ...Array(18), 'theirs'))
    expect(await read(place, 'x.flt')).toBe('two\n')
    expect(existsSync(join(at.project, '..', 'ran'))).toBe(false)
    expect(pathsOf(await at.review())).toEqual(['a.crlf', 'file', 'outside'])
  })

  it('replaces a link by a directory and a file by a link without leaving the workspace', async () => {
    const place = await begin({ dir: 'was a file\n' })
    const { at, gitDir } = place
    await at.shell(
      'mkdir -p /workspace/target; echo safe > /workspace/target/inner; ln -s /workspace/target here; git add here',
    )
    const blob = (await runGit(['hash-object', '-w', '--stdin'], { gitDir, input: '/etc/passwd' })).stdout
      .toString()
      .trim()
    const inner = (await runGit(['mktree'], { gitDir, input: `100644 blob ${blob}\tinner\n` })).stdout.toString().trim()
    const listed = (await runGit(['ls-tree', at.baseOid], { gitDir })).stdout.toString()
    const rest = listed.split('\n').filter(line => line !== '' && !line.endsWith('\tdir'))
    const input = [...rest, `040000 tree ${inner}\tdir`, `120000 blob ${blob}\tlink`].join('\n')
    const tree = (await runGit(['mktree'], { gitDir, input: `${input}\n` })).stdout.toString().trim()
    const env = { GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@b' }
    const args = ['commit-tree', '-p', at.baseOid, '-m', 'links', tree]
    const moved = (await runGit(args, { gitDir, env })).stdout.toString().trim()
    await runGit(['update-ref', 'refs/heads/main', moved], { gitDir })
    expect((await turn(place, [{ kind: 'base', oid: moved }])).status).toBe('completed')
    expect([await read(place, 'dir/inner'), await readFile(join(at.project, '../target/inner'), 'utf8')]).toEqual([
      '/etc/passwd',
      'safe\n',
    ])
    expect(pathsOf(await at.review())).toEqual(['here'])
  })

  it('that git cannot write is taken back, and the Run says why', async () => {
    const place = await begin()
    const { at, gitDir } = place
    await at.shell('sed -i "1s/.*/mine/" file')
    const blob = (await runGit(['hash-object', '-w', '--stdin'], { gitDir, input: 'x' })).stdout.toString().trim()
    const listed = (await runGit(['ls-tree', at.baseOid], { gitDir })).stdout.toString()
    const input = `${listed}100644 blob ${blob}\t${'n'.repeat(300)}\n100644 blob ${blob}\taaa\n`
    const tree = (await runGit(['mktree'], { gitDir, input })).stdout.toString().trim()
    const env = { GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@b' }
    const args = ['commit-tree', '-p', at.baseOid, '-m', 'long', tree]
    const moved = (await runGit(args, { gitDir, env })).stdout.toString().trim()
    await runGit(['update-ref', 'refs/heads/main', moved], { gitDir })
    const run = await turn(place, [{ kind: 'base', oid: moved }], 'touch ran')
    expect(run).toMatchObject({ status: 'failed', errorCode: 'bring_failed' })
    expect([existsSync(join(at.project, 'aaa')), existsSync(join(at.project, 'ran'))]).toEqual([false, false])
    expect([(await at.review()).baseOid, pathsOf(await at.review())]).toEqual([at.baseOid, ['file']])
    await at.shell('echo on > on')
    expect(pathsOf(await at.review())).toEqual(['file', 'on'])
  })

  it('counts what the agent has committed like what it has not, and a file that it kept from git', async () => {
    const place = await begin()
    const { at, gitDir } = place
    await at.shell(`
      sed -i "1s/.*/committed/" file; git -c user.name=a -c user.email=a@b commit -qam mine
      sed -i "1s/.*/not committed/" other; echo '*.log' > .git/info/exclude; echo kept > a.log`)
    const moved = await commitTo(gitDir, 'main', at.baseOid, {
      ...{ file: lines(...Array(19), 'theirs'), other: lines(...Array(19), 'theirs') },
    })
    await turn(place, [{ kind: 'base', oid: moved }])
    expect(await read(place, 'file')).toBe(lines('committed', ...Array(18), 'theirs'))
    expect(await read(place, 'other')).toBe(lines('not committed', ...Array(18), 'theirs'))
    expect(await read(place, 'a.log')).toBe('kept\n')
    await writeFile(join(at.project, 'a.log'), 'x')
    expect(pathsOf(await at.review())).toEqual(['file', 'other'])
  })
})

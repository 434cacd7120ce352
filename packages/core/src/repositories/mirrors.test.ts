import { randomBytes } from 'node:crypto'
import { access, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { emptyTreeOid } from '@berth/contract'
import { type Progress, withProgress } from '@berth/platform/kit/progress.ts'
import { commitTo, emptyRepository, firstCommit, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pinnedObjects } from '../git/pack-transfer.ts'
import { gitText, runGit } from '../git/run-git.ts'
import type { GitHost } from '../git-hosts/git-host.ts'
import { type MirroredCommit, Mirrors, progressOf } from './mirrors.ts'

const signal = AbortSignal.timeout(60_000)
const ever = new Date(8.64e15)
const never = new Date(0)
let dir = ''
let commit: MirroredCommit

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-mirrors-'))
  const url = await sampleRepository(dir)
  const host: Pick<GitHost, 'id' | 'access'> = { id: 'h', access: async () => ({ url }) }
  const repository = { account: 'a', repositoryId: '1' }
  // Mirrors use no other part of a host.
  commit = { organizationId: 'o', host: host as GitHost, repository, oid: await tipOf(url, 'main') }
})
afterAll(() => rm(dir, { recursive: true }))

const listed = async () => (await readdir(join(dir, 'mirrors'))).filter(name => !name.endsWith('.lock'))

it('deletes a mirror that nobody has used for long, once no sandbox can be reading it', async () => {
  const mirrors = new Mirrors(join(dir, 'mirrors'), 1024 ** 3)
  const tidied = (unusedSince: Date, ...begun: readonly number[]) => {
    const [oldest, newest] = [Math.min(...begun), Math.max(...begun)].map(ms => new Date(ms))
    const readers = begun.length > 0 && oldest && newest ? { oldest, newest } : null
    return mirrors.tidy({ unusedSince, readers: async () => readers }, signal)
  }
  expect(await tidied(ever)).toEqual({ setAside: 0, deleted: 0 })
  const gitDir = await mirrors.provide(commit, signal)
  expect(await tidied(new Date(Date.now() - 60_000))).toEqual({ setAside: 0, deleted: 0 })
  expect(await tidied(ever, 5)).toEqual({ setAside: 1, deleted: 0 })
  await expect(access(gitDir)).rejects.toThrow('ENOENT')
  expect(await mirrors.provide(commit, signal)).toBe(gitDir)
  await mirrors.discard(commit, signal)
  expect(await listed()).toHaveLength(2)
  // Whatever the clock says, every sandbox that existed when they were first seen aside may be reading them.
  const future = Date.now() + 3_600_000
  for (const begun of [[5, future], [future], [future, future + 1], [7, future + 1]]) {
    expect(await tidied(never, ...begun)).toEqual({ setAside: 0, deleted: 0 })
  }
  expect(await tidied(never, future + 1)).toEqual({ setAside: 0, deleted: 2 })
  expect(await listed()).toEqual([])
})

it('reads git’s progress', () => {
  const progress = { unit: 'objects', done: 430, total: 1000, bytes: 1572864 }
  expect(progressOf('Receiving objects:  43% (430/1000), 1.50 MiB | 3.00 MiB/s')).toEqual(progress)
  expect(progressOf('remote: Compressing objects:  50% (1/2)')).toBe(null)
})

it('reports how much of a repository has come, and keeps git’s words of a failure', async () => {
  const mirrors = new Mirrors(join(dir, 'watched'), 1024 ** 3)
  // Git unpacks fewer objects without a word.
  const url = await sampleRepository(dir, 'sample/many')
  const files = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`file${n}`, String(n)]))
  const oid = await commitTo(url, 'main', await tipOf(url, 'main'), files)
  const host = { ...commit.host, access: async () => ({ url }) }
  const reports: Progress[] = []
  const watch = (progress: Progress) => reports.push(progress)
  await withProgress(watch, () => mirrors.provide({ ...commit, host, oid }, signal))
  const objects = reports.filter(({ unit }) => unit === 'objects')
  expect(objects.at(-1)).toMatchObject({ done: objects.at(0)?.total, total: expect.any(Number) })
  const gone = mirrors.provide({ ...commit, oid: 'a'.repeat(40) }, signal)
  await expect(gone).rejects.toMatchObject({
    kind: 'not_found',
    cause: { stderr: expect.stringContaining('not our ref') },
  })
})

it('refuses a repository that is over its bound, and keeps nothing of it', async () => {
  const large = join(dir, 'large')
  const url = await sampleRepository(dir, 'sample/large')
  const oid = await commitTo(url, 'main', await tipOf(url, 'main'), {
    large: randomBytes(3_000_000).toString('base64'),
  })
  const host: Pick<GitHost, 'id' | 'access'> = { id: 'l', access: async () => ({ url }) }
  const mirrors = new Mirrors(large, 1024 ** 2)
  await expect(mirrors.provide({ ...commit, host: host as GitHost, oid }, signal)).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('larger than a mirror may be'),
  })
  await mirrors.tidy({ unusedSince: never, readers: async () => null }, signal)
  expect((await readdir(large)).filter(name => !name.endsWith('.lock'))).toEqual([])
})

it('holds the empty tree of a repository without a commit, and its commits once there are some', async () => {
  const url = await emptyRepository(dir, 'sample/empty')
  const host: Pick<GitHost, 'id' | 'access'> = { id: 'e', access: async () => ({ url }) }
  const mirrors = new Mirrors(join(dir, 'empty'), 1024 ** 3)
  const empty = { ...commit, host: host as GitHost, oid: emptyTreeOid }
  const gitDir = await mirrors.provide(empty, signal)
  expect(await gitText(['ls-tree', `refs/berth/base/${emptyTreeOid}`], { gitDir })).toBe('')
  expect(await pinnedObjects(gitDir)).toEqual([emptyTreeOid])
  const oid = await firstCommit(url, 'main', 'README')
  await runGit(['tag', '-a', '-m', 'first', 'v1', oid], {
    gitDir: url,
    env: { GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' },
  })
  expect(await mirrors.provide({ ...empty, oid }, signal)).toBe(gitDir)
  expect(await mirrors.provide(empty, signal)).toBe(gitDir)
  expect((await pinnedObjects(gitDir)).toSorted()).toEqual(
    [oid, emptyTreeOid, await gitText(['rev-parse', 'v1'], { gitDir: url })].toSorted(),
  )
})

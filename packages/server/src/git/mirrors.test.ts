import { access, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sampleRepository, tipOf } from '../../test/support/repositories.ts'
import type { GitHost } from '../git-hosts/git-host.ts'
import { type MirroredCommit, Mirrors } from './mirrors.ts'

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
  // Of a host, mirrors use no more than this.
  commit = { organizationId: 'o', host: host as GitHost, repository, oid: await tipOf(url, 'main') }
})
afterAll(() => rm(dir, { recursive: true }))

const listed = async () => (await readdir(join(dir, 'mirrors'))).filter(name => !name.endsWith('.lock'))

it('goes when nobody has used it for long, and only from under nobody', async () => {
  const mirrors = new Mirrors(join(dir, 'mirrors'))
  expect(await mirrors.tidy({ unusedSince: ever, oldestReader: null }, signal)).toEqual({ setAside: 0, deleted: 0 })
  const gitDir = await mirrors.provide(commit, signal)
  const used = new Date()
  expect(await mirrors.tidy({ unusedSince: new Date(used.getTime() - 60_000), oldestReader: null }, signal)).toEqual({
    ...{ setAside: 0, deleted: 0 },
  })
  expect(await mirrors.tidy({ unusedSince: ever, oldestReader: never }, signal)).toEqual({ setAside: 1, deleted: 0 })
  await expect(access(gitDir)).rejects.toThrow('ENOENT')
  expect(await mirrors.provide(commit, signal)).toBe(gitDir)
  await mirrors.discard(commit, signal)
  expect(await listed()).toHaveLength(2)
  // A sandbox that was begun before they were put aside may be reading them.
  expect(await mirrors.tidy({ unusedSince: never, oldestReader: used }, signal)).toEqual({ setAside: 0, deleted: 0 })
  expect(await mirrors.tidy({ unusedSince: never, oldestReader: ever }, signal)).toEqual({ setAside: 0, deleted: 2 })
  expect(await listed()).toEqual([])
})

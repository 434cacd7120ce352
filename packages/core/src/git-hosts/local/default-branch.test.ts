import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { emptyRepository, firstCommit, sampleRepository } from '@berth/testing/git/repositories.ts'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { runGit } from '../../git/run-git.ts'
import { findHead, findHeads, type LocalHead, readHead } from './default-branch.ts'

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'berth-head-'))
})
afterAll(() => rm(root, { recursive: true }))

const main = { branch: 'main', born: true, empty: false }

it.each<[string, (gitDir: string) => Promise<unknown>, LocalHead | undefined]>([
  ['whose branch is loose', async () => {}, main],
  ['whose branch is packed', gitDir => runGit(['pack-refs', '--all'], { gitDir }), main],
  [
    'whose branch has a directory',
    gitDir => branchTo(gitDir, 'team/main'),
    { branch: 'team/main', born: true, empty: false },
  ],
  ['whose branch has no commit', gitDir => headTo(gitDir, 'trunk'), { branch: 'trunk', born: false, empty: false }],
  [
    'whose branch is named as another one begins',
    gitDir => headTo(gitDir, 'mai'),
    { branch: 'mai', born: false, empty: false },
  ],
  ['with HEAD at a commit', detach, { branch: null, born: false, empty: false }],
  ['with HEAD outside of the branches', gitDir => writeFile(join(gitDir, 'HEAD'), 'ref: refs/notes/x\n'), undefined],
  ['with HEAD that leads out', gitDir => writeFile(join(gitDir, 'HEAD'), 'ref: refs/heads/../../HEAD\n'), undefined],
  ['with HEAD that is a link', link, undefined],
])('reads the head of a repository %s', async (name, change, head) => {
  const gitDir = await sampleRepository(root, `heads/${name.replaceAll(' ', '-')}`)
  await change(gitDir)
  expect(await readHead(gitDir)).toEqual(head)
})

it.each<[string, (gitDir: string) => Promise<unknown>, LocalHead]>([
  ['no ref at all', async () => {}, { branch: 'trunk', born: false, empty: true }],
  ['a loose tag', tag, { branch: 'trunk', born: false, empty: false }],
  [
    'a packed tag',
    async gitDir => {
      await tag(gitDir)
      await runGit(['pack-refs', '--all'], { gitDir })
    },
    { branch: 'trunk', born: false, empty: false },
  ],
])('tells whether a repository is empty that has %s', async (name, change, head) => {
  const gitDir = await emptyRepository(root, `empty/${name.replaceAll(' ', '-')}`, 'trunk')
  await change(gitDir)
  expect(await readHead(gitDir)).toEqual(head)
  expect(await findHead(gitDir, undefined)).toEqual(head)
})

it('asks git where files do not tell', async () => {
  const gitDir = await sampleRepository(root, 'asked/main')
  await writeFile(join(gitDir, 'HEAD'), 'ref: refs/notes/x\n')
  expect(await findHead(gitDir, undefined)).toEqual({ branch: null, born: false, empty: false })
})

it.each([
  ['with a commit', sampleRepository, false],
  ['without a commit', emptyRepository, true],
])('gives no branch whose name is not UTF-8, in a repository %s', async (name, make, empty) => {
  const gitDir = await make(root, `bytes/${name.replaceAll(' ', '-')}`)
  await writeFile(join(gitDir, 'HEAD'), Buffer.from('ref: refs/heads/caf\xe9\n', 'latin1'))
  expect(await findHead(gitDir, undefined)).toEqual({ branch: null, born: false, empty })
})

it('lists repositories of which git cannot read one', async () => {
  const repositories = await Promise.all(
    ['read', 'unread'].map(async name => ({ gitDir: await sampleRepository(root, `list/${name}`) })),
  )
  await writeFile(join(root, 'list/unread.git/HEAD'), 'of something else\n')
  const unread = { branch: null, born: false, empty: false }
  expect((await findHeads(repositories, undefined)).map(([, head]) => head)).toEqual([main, unread])
  await expect(findHead(join(root, 'list/unread.git'), undefined)).rejects.toMatchObject({ kind: 'unavailable' })
  const listing = findHeads(repositories, AbortSignal.abort(new Error('late')))
  await expect(listing).rejects.toThrow('late')
})

it('asks git of few repositories of a list at once', async () => {
  const gitDir = await sampleRepository(root, 'asked/often')
  await writeFile(join(gitDir, 'HEAD'), 'ref: refs/notes/x\n')
  const { signal } = new AbortController()
  const began = vi.spyOn(signal, 'addEventListener')
  const ended = vi.spyOn(signal, 'removeEventListener')
  let most = 0
  began.mockImplementation(() => {
    most = Math.max(most, began.mock.calls.length - ended.mock.calls.length)
  })
  const heads = await findHeads(
    Array.from({ length: 20 }, () => ({ gitDir })),
    signal,
  )
  expect(heads).toHaveLength(20)
  // A call may end before the last of its eight begins: the bound is the promise.
  expect(most).toBeGreaterThan(1)
  expect(most).toBeLessThanOrEqual(8)
})

async function tag(gitDir: string): Promise<void> {
  const oid = await firstCommit(gitDir, 'gone', 'README')
  await runGit(['tag', 'v1', oid], { gitDir })
  await runGit(['update-ref', '-d', 'refs/heads/gone'], { gitDir })
}

const headTo = (gitDir: string, branch: string) => runGit(['symbolic-ref', 'HEAD', `refs/heads/${branch}`], { gitDir })

async function branchTo(gitDir: string, branch: string): Promise<void> {
  await runGit(['update-ref', `refs/heads/${branch}`, 'refs/heads/main'], { gitDir })
  await headTo(gitDir, branch)
}

async function detach(gitDir: string): Promise<void> {
  const { stdout } = await runGit(['rev-parse', 'refs/heads/main'], { gitDir })
  await writeFile(join(gitDir, 'HEAD'), stdout)
}

async function link(gitDir: string): Promise<void> {
  await rm(join(gitDir, 'HEAD'))
  await symlink('refs/heads/main', join(gitDir, 'HEAD'))
}

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { commitTo, sampleRepository, tipOf } from '../../../test/support/git/repositories.ts'
import { runGit } from '../../git/run-git.ts'
import { push } from './push.ts'

const signal = AbortSignal.timeout(60_000)
let dir = ''
let url = ''
let gitDir = ''
let base = ''
let ours = ''

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-push-'))
  url = await sampleRepository(dir)
  gitDir = await sampleRepository(dir, 'sample/ours')
  base = await tipOf(url, 'main')
  ours = await commitTo(gitDir, 'ours', base, { mine: 'x' })
})
afterAll(() => rm(dir, { recursive: true }))

const pushed = (branch: string, from: string | null) =>
  push(gitDir, { url }, { branch, from, to: ours, fetch: false }, signal)

it('makes a branch that is missing, and moves one from its known tip', async () => {
  await runGit(['update-ref', 'refs/heads/standing', base], { gitDir: url })
  expect([await pushed('fresh', null), await pushed('standing', base)]).toEqual(['pushed', 'pushed'])
  expect([await tipOf(url, 'fresh'), await tipOf(url, 'standing')]).toEqual([ours, ours])
})

it('leaves a branch alone that somebody has made or moved since it was read', async () => {
  const theirs = await commitTo(url, 'theirs', base, { theirs: 'x' })
  expect([await pushed('theirs', null), await pushed('theirs', base)]).toEqual(['moved', 'moved'])
  expect(await tipOf(url, 'theirs')).toBe(theirs)
})

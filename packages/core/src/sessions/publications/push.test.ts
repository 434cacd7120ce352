import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commitTo, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runGit } from '../../git/run-git.ts'
import { push, refusalOf } from './push.ts'

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
  push(gitDir, { url }, { ref: `refs/heads/${branch}`, from, to: ours, fetch: null }, signal)

it('makes a branch that is missing, and moves one from its known tip', async () => {
  await runGit(['update-ref', 'refs/heads/standing', base], { gitDir: url })
  expect([await pushed('fresh', null), await pushed('standing', base)]).toEqual(['pushed', 'pushed'])
  expect([await tipOf(url, 'fresh'), await tipOf(url, 'standing')]).toEqual([ours, ours])
})

it('does not move a branch that should be missing', async () => {
  await runGit(['update-ref', 'refs/heads/theirs', base], { gitDir: url })
  expect(await pushed('theirs', null)).toBe('moved')
  expect(await tipOf(url, 'theirs')).toBe(base)
})

it.each(['way/of', 'way'])('says that another branch keeps %s from being made', async branch => {
  await runGit(['update-ref', '-d', 'refs/heads/way'], { gitDir: url, exits: [0, 1] })
  await runGit(['update-ref', '-d', 'refs/heads/way/of'], { gitDir: url, exits: [0, 1] })
  await runGit(['update-ref', `refs/heads/${branch === 'way' ? 'way/of' : 'way'}`, base], { gitDir: url })
  expect(await pushed(branch, null)).toBe('obstructed')
})

it.each([
  ["[remote rejected] (cannot lock ref 'refs/heads/a': Unable to create '/r/a.lock': File exists.)", 'moved'],
  ["[remote rejected] (cannot lock ref 'refs/heads/a': is at 1 but expected 2)", 'moved'],
  ["[remote rejected] (cannot lock ref 'refs/heads/a/b': 'refs/heads/a' exists; cannot create it)", 'obstructed'],
  ['[remote rejected] (directory file conflict)', 'obstructed'],
  ["[remote rejected] (failed to update ref)\nremote: error: there are still refs under 'refs/heads/a'", 'obstructed'],
  ["[remote rejected] (cannot lock ref 'refs/heads/a': '/r/a.lock': File name too long)", 'refused'],
  ["[remote rejected] (cannot lock ref 'refs/heads/a': Unable to create '/r/a.lock': Permission denied)", 'forbidden'],
  ['[remote rejected] (pre-receive hook declined)\nremote: error: GH001: Large files detected.', 'refused'],
  ['[remote rejected] (push declined due to email privacy restrictions)\nremote: error: GH007: private', 'refused'],
  ['[remote rejected] (push declined due to repository rule violations)\nremote: - GITHUB PUSH PROTECTION', 'refused'],
  ['[remote rejected] (protected branch hook declined)\nremote: error: GH006: Protected branch', 'protected'],
])('takes a refusal that time does not end for what it is: %s', (message, meaning) => {
  const [reason = '', ...stderr] = message.split('\n')
  expect(refusalOf(`!\tabc:refs/heads/x\t${reason}`, stderr.join('\n'))).toBe(meaning)
})

it.each(['protected', 'permission/denied', 'non-fast-forward', 'gh006'])(
  'takes no word of a name for a reason: branch and repository %s',
  async name => {
    const strict = await sampleRepository(dir, `named/${name}`)
    // Hidden refs are refused without a word of the host: git's own output holds the names alone.
    await runGit(['config', 'receive.hideRefs', `refs/heads/${name}`], { gitDir: strict })
    const move = { ref: `refs/heads/${name}`, from: null, to: ours, fetch: null }
    expect(await push(gitDir, { url: strict }, move, signal)).toBe('refused')
  },
)

it('leaves a branch alone that somebody has made or moved since it was read', async () => {
  const theirs = await commitTo(url, 'theirs', base, { theirs: 'x' })
  expect([await pushed('theirs', null), await pushed('theirs', base)]).toEqual(['moved', 'moved'])
  expect(await tipOf(url, 'theirs')).toBe(theirs)
})

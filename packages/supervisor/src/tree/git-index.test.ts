import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { TrackedDirectories, trackedPaths } from './git-index.ts'

const files = ['a', 'a-b', 'a/c', 'deep/er/and/deeper/file', 'with\nnewline', 'x'.repeat(200), 'z/__pycache__/kept.pyc']
let dir: string
const before = process.cwd()

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'berth-git-'))
  process.chdir(dir)
})
afterEach(() => {
  process.chdir(before)
  rmSync(dir, { recursive: true })
})

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: dir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

function repository(names: readonly string[], ...init: string[]): void {
  git('init', ...init)
  for (const name of names) {
    mkdirSync(join(dir, name, '..'), { recursive: true })
    writeFileSync(join(dir, name), name)
  }
  git('add', '-A')
}

const index = () => trackedPaths(readFileSync(join(dir, '.git/index')))
const listed = () => git('ls-files', '-z').split('\0').slice(0, -1)

test.each(['2', '3', '4'])('trackedPaths lists the same paths as git from an index of version %s', version => {
  repository(files.filter(name => name !== 'a'))
  git('update-index', '--index-version', version)
  // An extended entry; only versions 3 and 4 have them.
  if (version !== '2') git('update-index', '--skip-worktree', 'a-b')
  expect(index()).toEqual(listed())
})

test('trackedPaths returns undefined for an index that is split, truncated or of SHA-256 objects', () => {
  repository(['a', 'b'])
  const whole = readFileSync(join(dir, '.git/index'))
  for (const length of [0, 10, 40, 100, whole.length - 30])
    expect(trackedPaths(whole.subarray(0, length))).toBeUndefined()
  git('update-index', '--split-index')
  expect(index()).toBeUndefined()
  rmSync(join(dir, '.git'), { recursive: true })
  repository(['a', 'b'], '--object-format=sha256')
  expect(index()).toBeUndefined()
})

test('a directory is tracked if any repository above it tracks a file in it, or if that is unknown', () => {
  repository(files.filter(name => name !== 'a'))
  const tracks = (path: string) => new TrackedDirectories().tracks(path)
  expect(tracks('z/__pycache__')).toBe(true)
  expect(tracks('deep/er')).toBe(true)
  expect(tracks('deep/e')).toBe(false)
  expect(tracks('a/__pycache__')).toBe(false)
  writeFileSync(join(dir, 'a', '.git'), 'gitdir: /elsewhere')
  expect(tracks('a/__pycache__')).toBe(true)
  writeFileSync(join(dir, '.git/index'), 'torn')
  expect(tracks('deep/__pycache__')).toBe(true)
})

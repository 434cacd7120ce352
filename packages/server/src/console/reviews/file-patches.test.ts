import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { splitPatch, withContext } from './file-patches.ts'

let dir = ''
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-patches-'))
})
afterAll(() => rm(dir, { recursive: true, force: true }))

/** Returns git's own diff of two texts. */
async function diff(before: string, after: string, context: number): Promise<string> {
  await writeFile(join(dir, 'a.txt'), before)
  await writeFile(join(dir, 'b.txt'), after)
  const args = ['diff', '--no-index', '--no-color', '--full-index', `--unified=${context}`, 'a.txt', 'b.txt']
  const env = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
  return new Promise((resolve, reject) => {
    execFile('git', args, { cwd: dir, env }, (error, stdout) => {
      // Git ends with 1 if the files differ.
      if (error !== null && error.code !== 1) reject(error)
      else resolve(stdout)
    })
  })
}

/** A generator of the same numbers every time. */
function random(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

it('cuts the lines of a whole file down to the hunks that git would have written', async () => {
  const next = random(7)
  const words = [
    'function f() {',
    '  return 1',
    '}',
    '',
    '-- dashes',
    '++ pluses',
    '@@ -1 +1 @@',
    'diff --git a/a b/a',
    '\\',
    ...['\r', '\u2028', '\u2029'].map(end => `y${end}diff --git a/evil b/evil`),
  ]
  const word = () => words[next(words.length)] ?? ''
  for (let round = 0; round < 60; round++) {
    const before = Array.from({ length: next(40) }, word)
    const after = before.flatMap(line => (next(8) > 0 ? [line] : next(2) > 0 ? [] : [line, word()]))
    const end = () => (next(3) > 0 ? '\n' : '')
    const [old, fresh] = [before.join('\n') + end(), after.join('\n') + end()]
    if (old === fresh) continue
    const whole = await diff(old, fresh, 1_000)
    for (const context of [0, 1, 3, 12]) {
      const parts = splitPatch(await diff(old, fresh, context), false)
      expect(parts).toHaveLength(1)
      expect(withContext(whole, context)).toBe(parts[0])
    }
  }
}, 60_000)

it('keeps a path whose type changed together, and leaves out what was cut', () => {
  const header = 'diff --git a/x b/x\n'
  const patch = `${header}deleted file mode 100644\n@@ -1 +0,0 @@\n-a\n${header}new file mode 120000\n@@ -0,0 +1 @@\n+b\ndiff --git a/y b/y\n`
  expect(splitPatch(patch, false)).toHaveLength(2)
  expect(splitPatch(patch, true)).toHaveLength(1)
  expect(splitPatch('', false)).toEqual([])
})

it.each(['\r', '\u2028', '\u2029'])('takes no line of a file for the header of another, behind %j', end => {
  const first = `diff --git a/x b/x\n@@ -1 +1 @@ f${end}\n-x\n+y${end}diff --git a/evil b/evil${end}@@ -1 +1 @@\n`
  const second = 'diff --git a/z b/z\n@@ -1 +1 @@\n-z\n+Z\n'
  expect(splitPatch(first + second, false)).toEqual([first, second])
  expect(withContext(`diff --git a/x b/x\n@@ -1,2 +1,2 @@ f${end}\n x\n-x\n+y\n`, 0)).toContain('@@ -2 +2 @@')
})

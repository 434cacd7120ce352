import { expect, test } from 'vitest'
import { fitsGlob } from './glob.ts'

test.each([
  ['*.md', ['a.md'], ['a/b.md', '.a.md', 'a.mdx']],
  ['./docs//*', ['docs/a'], ['docs', 'docs/a/b', 'docs/.a']],
  ['docs/**', ['docs/a', 'docs/a/b'], ['docs', 'a/docs/b', 'docs/.a/b']],
  ['**/x', ['x', 'a/x', 'a/b/x'], ['ax', '.a/x', 'x/a']],
  ['a/**/b/**/*.ts', ['a/b/c.ts', 'a/b/b/d/c.ts'], ['a/c.ts', 'a/x/b/c.js', 'a/x/b/.y/b/c.ts']],
  ['.*/**/.a?c', ['.x/.abc', '.x/y/.a💡c'], ['x/.abc', '.x/.ac', '.x/.y/.abc']],
  ['a*b**c', ['abc', 'axbxbyc'], ['abcd', 'a/b/c']],
  ['app/(x)/[id]/{a,b}', ['app/(x)/[id]/{a,b}'], ['app/x/i/a']],
])('%s', (glob, fitting, others) => {
  expect(fitting.filter(path => !fitsGlob(path, glob))).toEqual([])
  expect(others.filter(path => fitsGlob(path, glob))).toEqual([])
})

test('no glob takes long', () => {
  expect(fitsGlob(`${'a'.repeat(4000)}c`, `${'*a'.repeat(126)}*b`)).toBe(false)
  expect(fitsGlob(`${'a/'.repeat(2000)}c`, `${'**/a/'.repeat(50)}b`)).toBe(false)
})

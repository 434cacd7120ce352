import { expect, test } from 'vitest'
import { belowWorkspace, citedPlace } from './cited-path.ts'

test.each([
  ['src/login.ts', { path: 'src/login.ts' }],
  ['src/login.ts:12', { path: 'src/login.ts', line: 12 }],
  ['login.test.ts:12:3', { path: 'login.test.ts', line: 12 }],
  ['a/b.py:3-9', { path: 'a/b.py', line: 3 }],
  ['/workspace/project/a.rs', { path: '/workspace/project/a.rs' }],
  ['./a.go:1', { path: './a.go', line: 1 }],
  ['Makefile:3', { path: 'Makefile', line: 3 }],
  ['app/[id]/page.tsx', { path: 'app/[id]/page.tsx' }],
  ['e.g.', null],
  ['example.com', null],
  ['1.2.3', null],
  ['npm run check', null],
  ['and/or', null],
  ['src/', null],
  ['https://example.com/a.html', null],
  ['foo()', null],
  [`${'a/'.repeat(600)}b.ts`, null],
])('%s is %j', (text, place) => {
  expect(citedPlace(text)).toEqual(place)
})

test.each([
  ['src/a.ts', true, 'project/src/a.ts'],
  ['./src/a.ts', true, 'project/src/a.ts'],
  ['src/a.ts', false, 'src/a.ts'],
  ['/workspace/project/a.ts', true, 'project/a.ts'],
  ['/etc/hosts', true, '/etc/hosts'],
])('%s, with a repository: %s, lies at %s', (path, hasRepository, below) => {
  expect(belowWorkspace(path, hasRepository)).toBe(below)
})

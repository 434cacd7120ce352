import { expect, test } from 'vitest'
import { workspacePath } from './file-path.ts'

test.each([
  ['', ''],
  ['.', ''],
  ['/workspace', ''],
  ['/workspace/', ''],
  ['/workspace/project/src/a.ts', 'project/src/a.ts'],
  ['project//src/./a.ts', 'project/src/a.ts'],
  ['project/src/../a.ts', 'project/a.ts'],
  ['/workspace/../workspace/a', 'a'],
  ['..', null],
  ['a/../../b', null],
  ['/etc/passwd', null],
  ['/workspaces/a', null],
  ['/workspace/../etc/passwd', null],
  ['/', null],
  ['a\0b', null],
])('the path %j is %j', (path, below) => {
  expect(workspacePath(path)).toBe(below)
})

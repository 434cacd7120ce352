import { expect, test } from 'vitest'
import { hasSucceeded } from './lease-program.ts'

test('a program that warns has succeeded, and one that fails or is killed has not', () => {
  const warned = '0 bash: warning: setlocale: LC_ALL: cannot change locale (C.UTF-8)'
  expect(['0', warned, '1', '128 fatal: 0', 'SIGKILL', '01', ''].filter(hasSucceeded)).toEqual(['0', warned])
})

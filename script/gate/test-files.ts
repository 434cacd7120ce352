import { globSync } from 'node:fs'

/** Patterns of all test files, from the root of the checkout. */
export const testPatterns = [
  'packages/*/src/**/*.test.ts',
  'packages/*/test/**/*.test.ts',
  'script/**/*.test.ts',
  'bench/**/*.test.ts',
] as const

/** Returns the path of every test file from the root, in order of their names. */
export function testFilesIn(root: string): readonly string[] {
  return globSync([...testPatterns], { cwd: root, exclude: ['**/node_modules/**'] }).sort()
}

/** Checks that imports follow the directions in docs/internals/folders.md. */
import { join } from 'node:path'
import { checkImports } from './imports/check.ts'

const problems = checkImports(join(import.meta.dirname, '..'))
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1

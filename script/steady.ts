/** Checks that tests give bounds that a busy machine keeps, wait for things instead of times, and leave no process. */
import { join } from 'node:path'
import { checkTests } from './lib/steady-tests.ts'

const problems = checkTests(join(import.meta.dirname, '..'))
for (const problem of problems) console.error(problem)
if (problems.length > 0) console.error('Mend each, or say why it is as it is: // bound: …')
process.exitCode = problems.length === 0 ? 0 : 1

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

// They stand among the tests because they take as long as some of these, and one worker of the run is enough for them.
test.each(['lint', 'types', 'unused', 'imports', 'weight', 'steady'])('npm run %s finds nothing', async check => {
  const { NODE_ENV: _, ...env } = process.env
  const ended = await promisify(execFile)('npm', ['run', '--silent', check], {
    cwd: root,
    env,
    maxBuffer: 64 * 1024 ** 2,
  }).then(
    () => '',
    (error: { readonly stdout: string; readonly stderr: string }) => `${error.stdout}${error.stderr}` || String(error),
  )
  expect(ended).toBe('')
})

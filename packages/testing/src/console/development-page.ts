import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../../..', import.meta.url))

/** The console's page, built against the development build of React. */
export interface DevelopmentPage extends AsyncDisposable {
  /** For `consoleDirectory` of a test service. */
  readonly directory: string
}

/**
 * Builds the page with React's development build. That one writes a warning to the browser's console, as an error, for
 * faults that the released build passes over, such as two siblings with one key.
 */
export async function buildDevelopmentPage(): Promise<DevelopmentPage> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-page-'))
  // In a process of its own: Vite takes the build of React from a variable of its process.
  await promisify(execFile)(
    process.execPath,
    [
      join(root, 'node_modules/vite/bin/vite.js'),
      'build',
      join(root, 'packages/console'),
      ...['--mode', 'development', '--minify', 'false', '--outDir', directory, '--emptyOutDir'],
      ...['--logLevel', 'warn'],
    ],
    { cwd: root, env: { ...process.env, NODE_ENV: 'development' } },
  )
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) }
}

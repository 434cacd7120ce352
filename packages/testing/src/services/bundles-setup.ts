import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../../..')

/** Brings the bundles up to date before the first test, so that no test starts a program that is older than its sources. */
export default function setup(): void {
  // Two builds of one checkout would write the same files, and script/run holds this lock as well.
  const build = ['package.json', process.execPath, 'script/build.ts', 'bundles']
  execFileSync('flock', build, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
}

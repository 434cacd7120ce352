/**
 * Stands beside a run of tests, in a session of its own, and waits for the end of its standard input, which is the end of the
 * runner however that came. If the runner has not said by then that it has cleaned up, it kills the run's processes and frees
 * the mounts, loop devices, cgroups and directories that it holds.
 *
 *   node script/gate/reaper.ts <mark>
 */
import { text } from 'node:stream/consumers'
import { takeDownKilledRuns } from '../../packages/testing/src/leaks/run-directory.ts'
import { removePostgresDirectories } from '../../packages/testing/src/storage/postgres-directory.ts'
import { killProcessesOf } from './marked-processes.ts'

const mark = process.argv[2] ?? ''
// A terminal's interrupt is for the runner, which ends in its own way.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
if ((await text(process.stdin)) !== 'done' && mark !== '') {
  killProcessesOf(mark)
  await takeDownKilledRuns()
  await removePostgresDirectories()
}

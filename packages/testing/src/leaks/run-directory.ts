import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ignoring } from '@berth/platform/kit/system-errors.ts'
import { isRunning } from '@berth/platform/storage/embedded/process-stat.ts'
import { heldBy, isNothing, takeDown } from '@berth/sandboxes/down/take-down.ts'
import { instanceOf } from '@berth/sandboxes/linux/instance.ts'

/** Set by the setup of a run of tests for its workers: the pid of the run. */
export const RUN_VARIABLE = 'RUN_OF_TESTS'

const pattern = /^berth-[a-z-]+-r([0-9]+)-/

/** Makes a data directory whose name says which run of tests it is of, so that nothing of it can outlive the run. */
export function runDirectory(kind: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `berth-${kind}-r${process.env[RUN_VARIABLE] ?? process.pid}-`))
}

/**
 * Ends what sandboxes of a run's data directories still hold on this machine, and removes the directories.
 * @returns one line for each data directory that held something
 */
export async function takeDownRun(pid: number): Promise<readonly string[]> {
  const leaks: string[] = []
  for (const directory of await directoriesOf(run => run === pid)) {
    for (const dataDir of [...(await below(directory)), directory]) {
      const held = await heldBy(instanceOf(dataDir))
      if (isNothing(held)) continue
      leaks.push(`${dataDir} ${JSON.stringify(held)}`)
      await takeDown(instanceOf(dataDir))
    }
    await rm(directory, { recursive: true, force: true })
  }
  return leaks
}

/** Frees what runs that were killed have left: their mounts and loop devices would stay until the machine stops. */
export async function takeDownKilledRuns(): Promise<void> {
  const killed = new Set<number>()
  await directoriesOf(run => {
    if (!isRunning(run)) killed.add(run)
    return false
  })
  // Another run may take the same one down at the same time, and what is left comes again.
  for (const pid of killed) await takeDownRun(pid).catch(() => undefined)
}

async function directoriesOf(isWanted: (run: number) => boolean): Promise<readonly string[]> {
  const names = (await readdir(tmpdir())).filter(name => {
    const run = Number(pattern.exec(name)?.[1] ?? Number.NaN)
    return Number.isSafeInteger(run) && isWanted(run)
  })
  // Another run may be taking the same one down.
  const paths = names.map(name => ignoring(['ENOENT'], realpath(join(tmpdir(), name))))
  return (await Promise.all(paths)).filter(path => path !== undefined)
}

/** Some tests keep the data directories of several processes in one. */
async function below(directory: string): Promise<readonly string[]> {
  const entries = (await ignoring(['ENOENT'], readdir(directory, { withFileTypes: true }))) ?? []
  return entries.filter(entry => entry.isDirectory()).map(entry => join(directory, entry.name))
}

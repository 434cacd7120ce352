import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processStartTime } from '../linux/process-start-time.ts'

/** Directory of the notes of the processes that serve from a data directory, one a process. */
const directoryOf = (dataDir: string): string => join(dataDir, 'serving')

/**
 * Notes that this process serves from a data directory, until disposed of. Pid and start time together identify it, so
 * a note that a killed process has left names nobody.
 */
export async function noteServing(dataDir: string): Promise<Disposable> {
  const directory = directoryOf(dataDir)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, `${process.pid}-${await processStartTime(process.pid)}`)
  writeFileSync(path, '', { mode: 0o600 })
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) }
}

/** Returns the pids of the living processes that serve from a data directory. */
export async function servingProcesses(dataDir: string): Promise<readonly number[]> {
  const alive: number[] = []
  for (const name of namesIn(directoryOf(dataDir))) {
    const [pid, start] = name.split('-')
    if (start !== undefined && (await processStartTime(Number(pid))) === start) alive.push(Number(pid))
  }
  return alive
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

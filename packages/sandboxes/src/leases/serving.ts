import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processStartTime } from '../linux/process-start-time.ts'

/** Directory of the notes of the processes that serve from a data directory, one a process. */
const directoryOf = (dataDir: string): string => join(dataDir, 'serving')

/** The note of a process that serves; it ends when disposed of. */
export interface ServingNote extends Disposable {
  /** Adds the address on which the process listens, which with port 0 is known late. */
  listensOn(address: string): void
}

/** A living process that serves from a data directory. */
export interface ServingProcess {
  readonly pid: number
  /** The address on which it listens; null if it does not, or not yet. */
  readonly address: string | null
}

/**
 * Notes that this process serves from a data directory, until disposed of. Pid and start time together identify it, so
 * a note that a killed process has left names nobody.
 */
export async function noteServing(dataDir: string): Promise<ServingNote> {
  const directory = directoryOf(dataDir)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, `${process.pid}-${await processStartTime(process.pid)}`)
  const write = (text: string) => writeFileSync(path, text, { mode: 0o600 })
  write('')
  return { listensOn: write, [Symbol.dispose]: () => rmSync(path, { force: true }) }
}

/** Returns the pids of the living processes that serve from a data directory. */
export async function servingProcesses(dataDir: string): Promise<readonly number[]> {
  return (await readServing(dataDir)).map(({ pid }) => pid)
}

/** Reads the notes of the living processes that serve from a data directory. */
export async function readServing(dataDir: string): Promise<readonly ServingProcess[]> {
  const alive: ServingProcess[] = []
  for (const name of namesIn(directoryOf(dataDir))) {
    const [pid, start] = name.split('-')
    if (start === undefined || (await processStartTime(Number(pid))) !== start) continue
    alive.push({ pid: Number(pid), address: addressIn(join(directoryOf(dataDir), name)) })
  }
  return alive
}

function addressIn(path: string): string | null {
  try {
    return readFileSync(path, 'utf8') || null
  } catch {
    return null
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

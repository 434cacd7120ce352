import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { confine, nobody } from '@berth/sandboxes/confined/confined.ts'
import { hasSucceeded, type ProgramRun } from '@berth/sandboxes/lease-program.ts'

const directories = '/usr/local/bin:/usr/bin:/bin'
/** Path of a program's input: a read-only copy in memory. */
export const inputPath = '/input'

/** Returns true if the host has a system program. */
export const hasProgram = (name: string): boolean =>
  directories.split(delimiter).some(directory => existsSync(join(directory, name)))

/** Bounds of a program's resources. */
export interface ProgramBounds {
  readonly memoryBytes: number
  readonly seconds: number
  /** Of its output; a program that writes more is killed. */
  readonly outputBytes: number
}

/** The end of a program, with its output. */
export interface ProgramEnd {
  readonly ok: boolean
  readonly output: Buffer
  /** The beginning of its error output. */
  readonly outcome: string
}

/**
 * Runs a system program on untrusted bytes: as nobody, in its own namespaces, without a network, the service's files or
 * a writable place, and within its bounds.
 *
 * @throws the signal's reason
 */
export async function runConfined(
  command: readonly [string, ...string[]],
  input: Buffer,
  bounds: ProgramBounds,
  signal: AbortSignal,
): Promise<ProgramEnd> {
  signal.throwIfAborted()
  const rlimits = [`--as=${bounds.memoryBytes}`, `--cpu=${bounds.seconds}`, '--fsize=0', '--core=0', '--nofile=64']
  const program = await confine({
    ...nobody,
    readsAll: false,
    // Bubblewrap writes the input to a file in memory; the program itself writes no file.
    bounds: { memoryBytes: bounds.memoryBytes, cpuSeconds: bounds.seconds, fileBytes: input.length },
    environment: { PATH: directories, LANG: 'C.UTF-8' },
    directories: ['/etc/alternatives'],
    mounts: [
      // Some libraries are behind links in this directory.
      ...['--ro-bind-try', '/etc/alternatives', '/etc/alternatives'],
      ...['--perms', '0444', '--ro-bind-data', '0', inputPath],
    ],
    command: ['prlimit', ...rlimits, '--', ...command],
  })
  const late = AbortSignal.timeout(bounds.seconds * 2000)
  const ending = AbortSignal.any([signal, late])
  ending.addEventListener('abort', () => program.kill(), { once: true })
  if (ending.aborted) program.kill()
  program.input.end(input)
  const output = await collect(program, bounds.outputBytes)
  const outcome = await program.ended
  signal.throwIfAborted()
  return { ok: output !== null && !late.aborted && hasSucceeded(outcome), output: output ?? Buffer.alloc(0), outcome }
}

async function collect(program: ProgramRun, most: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of program.output as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > most) {
      program.kill()
      return null
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

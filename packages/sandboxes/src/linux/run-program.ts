import { spawn } from 'node:child_process'

/** A system program failed; the message carries its error output. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError'
  readonly stderr: string

  constructor(file: string, end: string, stderr: string) {
    super(`${file} failed (${end}): ${stderr}`)
    this.stderr = stderr
  }
}

/**
 * Runs a system program with an empty environment.
 * @param input its standard input; without one it has none
 * @returns its standard output
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  signal?: AbortSignal,
  cwd = '/',
  input?: string,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const child = spawn(file, args, {
    env: { PATH: systemPath, LC_ALL: 'C' },
    cwd,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...(signal && { signal }),
  })
  // If the program reads no further, its end tells why, not the pipe.
  child.stdin?.on('error', () => undefined).end(input)
  let out = ''
  let err = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (err.length < 4096) err += text
  })
  child.on('error', reject)
  child.on('close', (code, killedBy) => {
    if (code === 0) resolve(out)
    else reject(new ProgramError(file, String(killedBy ?? code), err.trim()))
  })
  return promise
}

/** The search path for system programs; `mkfs.ext4` and `mount` are often outside a user's own path. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

import { spawn } from 'node:child_process'

/** A system program failed; the message carries its error output. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError'
}

/**
 * Runs a system program with an empty environment.
 * @returns its standard output
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  signal?: AbortSignal,
  cwd = '/',
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const child = spawn(file, args, {
    env: { PATH: systemPath, LC_ALL: 'C' },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(signal && { signal }),
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (err.length < 4096) err += text
  })
  child.on('error', reject)
  child.on('close', (code, killedBy) => {
    if (code === 0) resolve(out)
    else reject(new ProgramError(`${file} failed (${killedBy ?? code}): ${err.trim()}`))
  })
  return promise
}

/** The search path for system programs; `mkfs.ext4` and `mount` are often outside a user's own path. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

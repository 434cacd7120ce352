import { readFile } from 'node:fs/promises'
import { ProgramError, runProgram } from './run-program.ts'

/**
 * Unmounts everything below a directory, the newest mount first. Other processes of this host may do the same at once:
 * what they have unmounted counts as done.
 * @param directory absolute, without symbolic links
 */
export async function unmountBelow(directory: string): Promise<void> {
  const mounts = await mountsBelow(directory)
  for (const path of mounts.toReversed()) {
    try {
      await runProgram('umount', ['--no-canonicalize', '--', path])
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error
      // A stray reader on the host (a backup, a `du`) must not block the removal.
      await runProgram('umount', ['--no-canonicalize', '-l', '--', path]).catch(async refusal => {
        if ((await mountsBelow(directory)).includes(path)) throw refusal
      })
    }
  }
}

/** Returns the mount points below a directory, oldest first. */
export async function mountsBelow(directory: string): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n')
  return lines.map(line => unescaped(line.split(' ')[4] ?? '')).filter(path => path.startsWith(`${directory}/`))
}

/** The kernel writes white space and backslashes as octal bytes. */
const unescaped = (path: string): string =>
  path.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

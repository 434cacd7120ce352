import { readFile } from 'node:fs/promises'
import { ignoring } from '@berth/platform/kit/system-errors.ts'

/**
 * Returns the start time of a process; undefined once it is dead or a zombie. Pid and start time together identify a
 * process.
 */
export async function processStartTime(pid: number): Promise<string | undefined> {
  // The program's name is second, in parentheses, and may contain anything; the start time is the 20th field after it.
  const fields =
    (await ignoring(['ENOENT', 'ESRCH', 'EACCES'], readFile(`/proc/${pid}/stat`, 'utf8')))
      ?.split(') ')
      .at(-1)
      ?.split(' ') ?? []
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { ignoring } from '@berth/platform/kit/system-errors.ts'
import { findProgram, MissingProgramError } from '../linux/find-program.ts'
import { findLaunchShell, type LaunchShell } from './launch/launch-shell.ts'

/** Properties of this host that decide how sandboxes are made. */
export interface Host {
  readonly bwrapPath: string
  readonly shell: LaunchShell
  readonly privileged: boolean
  readonly canDisableUserNamespaces: boolean
  /** Whether the kernel lets users trace programs that they may not read (`fs.suid_dumpable` is 1). */
  readonly tracesClosedPrograms: boolean
}

const how = 'install it with `apt-get install bubblewrap`, `dnf install bubblewrap` or `apk add bubblewrap`'

/**
 * Inspects the host.
 * @throws MissingProgramError
 */
export async function inspectHost(bwrap: string): Promise<Host> {
  const bwrapPath = await findProgram(bwrap)
  if (bwrapPath === undefined)
    throw new MissingProgramError(`bubblewrap (${bwrap}) is not installed on this host: ${how}`)
  const privileged = process.getuid?.() === 0
  for (const program of ['/bin/sh', ...(privileged ? ['setpriv'] : []), 'prlimit']) {
    if ((await findProgram(program)) === undefined) {
      throw new MissingProgramError(`${program} is not installed on this host: install the package util-linux`)
    }
  }
  const { stdout } = await promisify(execFile)(bwrapPath, ['--help'], { env: {} })
  return {
    bwrapPath,
    shell: await findLaunchShell(),
    privileged,
    canDisableUserNamespaces: stdout.includes('--disable-userns'),
    tracesClosedPrograms: (await ignoring(['ENOENT'], readFile('/proc/sys/fs/suid_dumpable', 'utf8')))?.trim() === '1',
  }
}

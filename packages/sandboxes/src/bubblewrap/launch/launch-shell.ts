import { access, readdir, readFile } from 'node:fs/promises'
import { ignoring } from '@berth/platform/kit/system-errors.ts'

/** The first descriptor that a launch does not pass on deliberately. */
const FIRST_UNUSED_FD = 7

/** The shell that launches sandboxes. */
export interface LaunchShell {
  readonly path: string
  /** Options under which `ulimit -f` counts in blocks of 512 bytes, as in every POSIX shell. */
  readonly options: readonly string[]
  /**
   * Commands that close descriptors which this process inherited: the program that started the service may have left
   * its files open.
   */
  readonly closing: string
  /** Descriptors that no shell of this host can close; they stay open inside. */
  readonly leaking: readonly number[]
}

/**
 * Finds the shell that launches sandboxes, and the descriptors that it must close. Node opens everything close-on-exec,
 * so only inherited descriptors reach children, and those all exist when the process starts. Plain `sh` closes single
 * digits only; higher ones need `bash`.
 */
export async function findLaunchShell(): Promise<LaunchShell> {
  const inherited: number[] = []
  for (const fd of (await readdir('/proc/self/fd')).map(Number)) {
    const info =
      fd < FIRST_UNUSED_FD ? undefined : await ignoring(['ENOENT'], readFile(`/proc/self/fdinfo/${fd}`, 'utf8'))
    const flags = /^flags:\s*([0-7]+)/m.exec(info ?? '')?.[1]
    if (flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) inherited.push(fd)
  }
  const closing = (fds: readonly number[]) => fds.map(fd => `exec ${fd}>&-; `).join('')
  const many = inherited.filter(fd => fd > 9)
  if (many.length === 0) return { path: '/bin/sh', options: [], closing: closing(inherited), leaking: [] }
  const bash = await ignoring(
    ['ENOENT', 'EACCES'],
    access('/bin/bash').then(() => '/bin/bash'),
  )
  if (bash) return { path: bash, options: ['--posix'], closing: closing(inherited), leaking: [] }
  return { path: '/bin/sh', options: [], closing: closing(inherited.filter(fd => fd <= 9)), leaking: many }
}

const CLOSE_ON_EXEC = 0o2000000

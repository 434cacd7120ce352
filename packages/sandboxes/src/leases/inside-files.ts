import { randomUUID } from 'node:crypto'
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { insidePaths } from '../inside-paths.ts'

/** The environment inside. The process that makes the sandbox passes on none of its own. */
export const insideEnvironment = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/berth',
  HOME: insidePaths.home,
  USER: 'agent',
  LOGNAME: 'agent',
  SHELL: '/bin/bash',
  LANG: 'C.UTF-8',
  TMPDIR: '/tmp',
} as const

/** Returns the user database of a sandbox, with its one user. */
export function passwdFiles(uid: number): readonly (readonly [name: string, content: string])[] {
  return [
    ['passwd', `agent:x:${uid}:${uid}:agent:${insidePaths.home}:/bin/bash\n`],
    ['group', `agent:x:${uid}:\n`],
  ]
}

/** The file of `sharedEtcFiles` that covers others. */
export const emptyFileName = 'empty'

/**
 * Git's configuration for all users: it asks the platform for credentials, and names the repository when it asks. It
 * gives commits an author in every repository, also in those that the agent makes. Being the system's, it holds beside
 * whatever the environment, the home and repositories configure, and their authors outrank it.
 */
const gitConfig =
  '[user]\n\tname = agent\n\temail = agent@localhost\n[credential]\n\thelper = /opt/berth/berth-git-credential\n\tuseHttpPath = true\n'

/** Files that all sandboxes of a service share, most of them for /etc. Only loopback names resolve inside. */
export const sharedEtcFiles: readonly (readonly [name: string, content: string])[] = [
  ['hosts', '127.0.0.1 localhost berth\n::1 localhost ip6-localhost ip6-loopback\n'],
  ['nsswitch.conf', 'passwd: files\ngroup: files\nshadow: files\nhosts: files\n'],
  ['gitconfig', gitConfig],
  [emptyFileName, ''],
]

/** Writes these files below a directory, and returns it. */
export async function writeSharedEtc(dir: string): Promise<string> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  for (const [name, content] of sharedEtcFiles) await replaceFile(join(dir, name), content)
  return dir
}

/** Replaces a file by a rename, because another process of the service may be reading it. */
export async function replaceFile(path: string, content: string | Buffer): Promise<void> {
  const fresh = `${path}.${randomUUID()}`
  await writeFile(fresh, content)
  await chmod(fresh, 0o444)
  await rename(fresh, path)
}

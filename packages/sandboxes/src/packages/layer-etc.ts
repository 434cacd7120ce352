import { existsSync } from 'node:fs'
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { runProgram } from '../linux/run-program.ts'
import { visibleEtc } from '../linux/system-mounts.ts'
import type { PackageSources } from './package-sources.ts'

/** Defaults of the programs that install packages, besides what every sandbox sees of /etc. */
const ofInstallers = ['adduser.conf', 'debconf.conf', 'deluser.conf', 'dpkg', 'shells', 'skel']
/** Debian's own users, without those of the host. */
const MASTERS = '/usr/share/base-passwd'
/** What the sandbox covers with files of its own must be there to be covered. */
const covered = ['passwd', 'group', 'hosts', 'nsswitch.conf', 'gitconfig']

/** Writes an /etc for the programs that install packages: nothing of it is secret, and no user is the host's. */
export async function stageEtc(etc: string, sources: PackageSources): Promise<void> {
  const names = [...visibleEtc(), ...ofInstallers.filter(name => existsSync(join('/etc', name)))]
  for (const name of names) {
    await mkdir(dirname(join(etc, name)), { recursive: true })
    await runProgram('cp', ['-a', '--', join('/etc', name), join(etc, name)])
  }
  for (const name of ['passwd', 'group']) await copyFile(join(MASTERS, `${name}.master`), join(etc, name))
  for (const name of ['shadow', 'gshadow']) await writeFile(join(etc, name), '', { mode: 0o600 })
  for (const name of ['sources.list.d', 'preferences.d', 'apt.conf.d'])
    await mkdir(join(etc, 'apt', name), { recursive: true })
  for (const { name, content } of sources.files) {
    const path = join(etc, 'apt', name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, content)
  }
}

/** Turns the /etc behind an installation into the one that sandboxes show. */
export async function finishEtc(etc: string): Promise<void> {
  for (const name of ['apt', 'shadow', 'gshadow', 'shadow-', 'gshadow-'])
    await rm(join(etc, name), { recursive: true, force: true })
  for (const name of covered) {
    // A package may have put a link there, which would lead elsewhere.
    await rm(join(etc, name), { recursive: true, force: true })
    await writeFile(join(etc, name), '')
  }
}

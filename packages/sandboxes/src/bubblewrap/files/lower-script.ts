import { chown, mkdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type ScriptPlace, startLeaseScript } from '../../confined/lease-script.ts'
import type { LowerOwner } from '../../driver.ts'

/** Mounts in a namespace of its own, which goes with the program: nothing is left to unmount, however it ends. */
const mounting = ['unshare', '--mount', '--propagation', 'slave', '--', 'sh', '-ec']
/**
 * Options of the overlay in which a layer is written. The layer holds whole files and no redirects, so it means the same
 * below any other overlay.
 */
const options = 'nosuid,nodev,redirect_dir=off,metacopy=off,xino=off,index=off,upperdir=workspace,workdir=work'

/** Returns the way to run scripts at directories of lower trees. */
export function lowerScripts(place: Pick<ScriptPlace, 'bwrap' | 'uid' | 'objects'>): LowerOwner['run'] {
  return async (directory, layers, script) => {
    const workspace = join(directory, 'workspace')
    const { uid } = place
    await mkdir(workspace, { mode: 0o755 })
    if (uid !== undefined) await chown(workspace, uid, uid)
    const at = { ...place, workspace, home: workspace, scratchDir: directory }
    if (layers.length === 0) return startLeaseScript(at, script)
    // The paths in the options are relative, so that no character in the host's paths confuses them.
    const names = layers.map((_, index) => `layer${index}`)
    for (const [index, layer] of layers.entries()) await symlink(layer, join(directory, `layer${index}`))
    for (const name of ['work', 'merged']) await mkdir(join(directory, name), { mode: 0o700 })
    const mount = `cd "$1"; mount -i -t overlay -o "lowerdir=$2,$3" overlay merged; cd /; shift 3; exec "$@"`
    const launcher = [...mounting, mount, 'sh', directory, names.join(':'), options]
    const run = await startLeaseScript({ ...at, workspace: join(directory, 'merged'), launcher }, script)
    const clear = async () => {
      for (const name of ['work', 'merged', ...names]) await rm(join(directory, name), { recursive: true, force: true })
    }
    return { ...run, ended: run.ended.finally(clear) }
  }
}

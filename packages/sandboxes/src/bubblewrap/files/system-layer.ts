import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { hostNames, type LeaseFiles } from '../../leases/lease-files.ts'
import { runProgram } from '../../linux/run-program.ts'
import { usrLinks } from '../../linux/system-mounts.ts'
import { layerNames } from '../../packages/layer-plan.ts'

/** Directories of /opt that belong to the platform. */
const ownNames: readonly string[] = ['berth', 'source', 'runtime', 'extensions']

/**
 * Mounts the host's /usr with a layer's over it, read-only and without effect of setuid bits, in the lease's directory.
 * @returns bubblewrap's arguments that show the layer in place of the host's system
 * @throws ProgramError
 */
export async function mountSystemLayer(files: LeaseFiles, layer: string): Promise<readonly string[]> {
  const usr = join(files.host, hostNames.usr)
  mkdirSync(usr, { mode: 0o700 })
  // So that no character in the layer's path confuses the options, in which paths are relative to the lease's directory.
  symlinkSync(layer, join(files.host, hostNames.layer))
  const lower = `lowerdir=host/${hostNames.layer}/${layerNames.usr}:/usr`
  const options = `ro,nosuid,nodev,redirect_dir=on,metacopy=off,xino=off,index=off,${lower}`
  await runProgram('mount', ['-i', '-t', 'overlay', '-o', options, 'overlay', usr], undefined, files.dir)
  const optional = readdirSync(join(layer, layerNames.opt), { withFileTypes: true })
    .filter(entry => entry.isDirectory() && !ownNames.includes(entry.name))
    .map(({ name }) => name)
  return [
    ...['--ro-bind', usr, '/usr', ...usrLinks()],
    ...[layerNames.etc, layerNames.var].flatMap(name => ['--ro-bind', join(layer, name), `/${name}`]),
    ...optional.flatMap(name => ['--ro-bind', join(layer, layerNames.opt, name), `/opt/${name}`]),
  ]
}

import { existsSync, lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * What of the host's /etc a sandbox sees: what programs need to find libraries, certificates, time zones and their
 * own defaults. Everything that may hold a secret of the host or of its administrator stays out.
 */
const etcNames =
  /^(alternatives|ca-certificates|ca-certificates\.conf|debian_version|fonts|gai\.conf|host\.conf|inputrc|java.*|ld\.so\.cache|ld\.so\.conf|ld\.so\.conf\.d|locale\.alias|localtime|login\.defs|magic|magic\.mime|mime\.types|os-release|perl|pki|protocols|python.*|services|ssl|terminfo|timezone)$/

/** Arguments that show the host's system read-only. They do not change while the service runs. */
export function systemMounts(): readonly string[] {
  const args = ['--ro-bind', '/usr', '/usr']
  for (const path of ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']) {
    if (!existsSync(path)) continue
    if (lstatSync(path).isSymbolicLink()) args.push('--symlink', readlinkSync(path), path)
    else args.push('--ro-bind', path, path)
  }
  for (const name of readdirSync('/etc').toSorted()) {
    const path = `/etc/${name}`
    if (!etcNames.test(name)) continue
    if (lstatSync(path).isSymbolicLink()) args.push('--symlink', readlinkSync(path), path)
    else args.push('--ro-bind', path, path)
  }
  return args
}

/**
 * `--dir` for every directory above the paths. Bubblewrap makes missing parents itself, but as root with mode 0700,
 * behind which the sandbox's own user sees nothing.
 */
export function parentDirectories(paths: readonly string[]): readonly string[] {
  const parents = new Set<string>()
  for (const path of paths) {
    for (let parent = dirname(path); parent !== '/'; parent = dirname(parent)) parents.add(parent)
  }
  return [...parents].toSorted().flatMap(parent => ['--perms', '0755', '--dir', parent])
}

import { existsSync, lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * What of the host's /etc a sandbox sees: what programs need to find libraries, certificates, time zones and their
 * own defaults. Everything that may hold a secret of the host or of its administrator stays out.
 */
const etcNames =
  /^(alternatives|ca-certificates|ca-certificates\.conf|chromium\.d|debian_version|fonts|gai\.conf|host\.conf|inputrc|java.*|ld\.so\.cache|ld\.so\.conf|ld\.so\.conf\.d|locale\.alias|localtime|login\.defs|magic|magic\.mime|mime\.types|os-release|perl|protocols|python.*|services|terminfo|timezone)$/

/** Certificates of authorities, without the private keys that hosts keep beside them. */
const certificates = [
  ...['ssl/certs', 'ssl/cert.pem', 'ssl/openssl.cnf'],
  ...['pki/tls/certs', 'pki/tls/cert.pem', 'pki/tls/openssl.cnf', 'pki/ca-trust/extracted', 'pki/java'],
]

/** Arguments that show the host's system read-only. They do not change while the service runs. */
export function systemMounts(): readonly string[] {
  const args = ['--ro-bind', '/usr', '/usr']
  for (const path of ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']) {
    if (!existsSync(path)) continue
    if (lstatSync(path).isSymbolicLink()) args.push('--symlink', readlinkSync(path), path)
    else args.push('--ro-bind', path, path)
  }
  const names = readdirSync('/etc').filter(name => etcNames.test(name))
  for (const name of [...names.toSorted(), ...certificates.filter(name => existsSync(`/etc/${name}`))]) {
    const path = `/etc/${name}`
    if (lstatSync(path).isSymbolicLink()) args.push('--symlink', readlinkSync(path), path)
    else args.push('--ro-bind', path, path)
  }
  return args
}

/** Where the mounts of `systemMounts` appear. */
export function mountTargets(mounts: readonly string[]): readonly string[] {
  return mounts.filter((_, at) => at % 3 === 2)
}

/** Files of /proc that tell of the whole host, as its interrupts and the keys of every user. */
const hostFiles = [
  'interrupts',
  'kcore',
  'key-users',
  'keys',
  'latency_stats',
  'sched_debug',
  'timer_list',
  'timer_stats',
]
/** Directories of /proc that tell of the host's devices. */
const hostDirectories = ['acpi', 'asound', 'scsi']

/**
 * Arguments that cover those of this kernel's /proc. Bubblewrap itself covers what could be written.
 *
 * @param emptyFile shown in place of a file
 */
export function processMasks(emptyFile: string): readonly string[] {
  const masks: string[] = []
  for (const path of hostFiles.map(name => `/proc/${name}`)) {
    if (existsSync(path)) masks.push('--ro-bind', emptyFile, path)
  }
  for (const path of hostDirectories.map(name => `/proc/${name}`)) {
    if (existsSync(path)) masks.push('--tmpfs', path, '--remount-ro', path)
  }
  return masks
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

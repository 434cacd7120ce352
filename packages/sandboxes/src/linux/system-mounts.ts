import { existsSync, lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Names in the host's /etc that a sandbox sees: programs need them to find libraries, certificates, time zones and
 * their defaults. Anything that may hold a secret of the host or its administrator stays out.
 */
const etcNames =
  /^(alternatives|ca-certificates|ca-certificates\.conf|chromium\.d|debian_version|fonts|gai\.conf|host\.conf|inputrc|java.*|ld\.so\.cache|ld\.so\.conf|ld\.so\.conf\.d|locale\.alias|localtime|login\.defs|magic|magic\.mime|mime\.types|os-release|perl|protocols|python.*|services|terminfo|timezone)$/

/**
 * Certificates of authorities, without the private keys that hosts keep beside them, and what Debian's Maven does not start
 * without, which leaves out its settings: they may hold passwords.
 */
const parts = [
  ...['ssl/certs', 'ssl/cert.pem', 'ssl/openssl.cnf'],
  ...['pki/tls/certs', 'pki/tls/cert.pem', 'pki/tls/openssl.cnf', 'pki/ca-trust/extracted', 'pki/java'],
  ...['maven/logging', 'maven/m2.conf'],
]

/** Names of the host's /etc that a sandbox sees, relative to it. */
export function visibleEtc(): readonly string[] {
  const names = readdirSync('/etc').filter(name => etcNames.test(name))
  return [...names.toSorted(), ...parts.filter(name => existsSync(`/etc/${name}`))]
}

/** Returns arguments that show the directories beside /usr that belong to it. */
export function usrLinks(): readonly string[] {
  return ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].filter(existsSync).flatMap(path => shown(path))
}

/** Returns arguments that show the host's system read-only. They do not change while the service runs. */
export function systemMounts(): readonly string[] {
  return ['--ro-bind', '/usr', '/usr', ...usrLinks(), ...visibleEtc().flatMap(name => shown(`/etc/${name}`))]
}

/** Returns arguments that show one path of the host read-only, or repeat a link. */
export function shown(source: string, target = source): readonly string[] {
  if (lstatSync(source).isSymbolicLink()) return ['--symlink', readlinkSync(source), target]
  return ['--ro-bind', source, target]
}

/** Returns the targets of the mounts of `systemMounts`. */
export function mountTargets(mounts: readonly string[]): readonly string[] {
  return mounts.filter((_, at) => at % 3 === 2)
}

/** Files of /proc that reveal the whole host, such as its interrupts and the keys of every user. */
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
/** Directories of /proc that reveal the host's devices. */
const hostDirectories = ['acpi', 'asound', 'scsi']

/**
 * Returns arguments that cover these parts of /proc, if this kernel has them. Bubblewrap itself covers the writable
 * parts.
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
 * Returns `--dir` arguments for every directory above the paths. Bubblewrap creates missing parents itself, but as root
 * with mode 0700, which closes them to the sandbox's own user.
 */
export function parentDirectories(paths: readonly string[]): readonly string[] {
  const parents = new Set<string>()
  for (const path of paths) {
    for (let parent = dirname(path); parent !== '/'; parent = dirname(parent)) parents.add(parent)
  }
  return [...parents].toSorted().flatMap(parent => ['--perms', '0755', '--dir', parent])
}

import type { OciContext } from './oci-context.ts'

/** Returns one line per bound: how this host enforces it, and the requirement for something better. */
export function describeBounds({ controllers, options }: OciContext): readonly string[] {
  const by = (name: 'memory' | 'pids' | 'cpu', description = 'cgroup of the container') =>
    controllers.has(name) ? description : `not bounded (no writable cgroup with the ${name} controller)`
  return [
    `containers: podman${options.runtime === undefined ? '' : ` with ${options.runtime}`}, image ${options.image}`,
    "identity: a uid per sandbox, without capabilities, in the host's user namespace",
    "system calls: podman's own profile for the container, and a filter for programs in confinement",
    `memory: ${by('memory')}`,
    `processes: ${by('pids')}`,
    `cpu: ${by('cpu')}`,
    'file size: RLIMIT_FSIZE',
    'disk: a file system per sandbox',
    'prebuilt trees: copied into each sandbox (its files come from an image)',
    "system packages: not possible (the system is the image's)",
    'between Runs: all processes frozen by the cgroup freezer',
    'end: cgroup.kill where the kernel has it, and podman',
  ]
}

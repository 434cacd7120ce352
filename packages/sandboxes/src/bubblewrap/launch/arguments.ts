import { basename, join } from 'node:path'
import type { SandboxSpec } from '../../driver.ts'
import { insidePaths } from '../../inside-paths.ts'
import { insideEnvironment } from '../../leases/inside-files.ts'
import { hostNames, type LeaseFiles } from '../../leases/lease-files.ts'
import { bundleFile } from '../../leases/trust-files.ts'
import { mountTargets, parentDirectories } from '../../linux/system-mounts.ts'

const SHARED_MEMORY_BYTES = 64 * 1024 * 1024

/**
 * The descriptor of a socket that bubblewrap reads to its end once every mount exists, and never if one fails. Its
 * content goes to a file that nothing uses.
 */
export const MILESTONE_FD = 6

/** The complete description of how to assemble one sandbox. */
export interface Plan {
  readonly spec: SandboxSpec
  readonly files: LeaseFiles
  readonly uid: number
  /** Whether bubblewrap mounts as root; otherwise it mounts in a user namespace. */
  readonly privileged: boolean
  readonly canDisableUserNamespaces: boolean
  readonly nodePath: string
  readonly closedNodePath: string
  readonly bundlesDir: string
  /** Directory of the objects that the spec names. */
  readonly objects?: string
  /** Directory of the /etc files that are the same in every sandbox. */
  readonly etcDir: string
  readonly systemMounts: readonly string[]
  /** The system's file of authorities, which those that the lease trusts cover; absent: nothing covers it. */
  readonly bundlePath?: string
  /** Mounts that cover files of /proc. */
  readonly processMasks: readonly string[]
  /** Which of memory and processes rlimits must bound, because the cgroup controller is missing. */
  readonly rlimits: { readonly memory: boolean; readonly processes: boolean }
}

/**
 * Returns bubblewrap's options for a plan, without the command. Order matters: later mounts cover earlier ones, and the
 * root becomes read-only last. Parents are created first, with mode 0755.
 */
export function sandboxOptions(plan: Plan): readonly string[] {
  const { spec, files } = plan
  const shown = [
    [plan.nodePath, insidePaths.node],
    [plan.closedNodePath, insidePaths.closedNode],
    [plan.bundlesDir, insidePaths.bundles],
    ...spec.mounts.map(path => [path, path] as const),
    ...(plan.objects === undefined ? [] : [[plan.objects, insidePaths.objects] as const]),
    ...(spec.runtime === undefined ? [] : [[spec.runtime, insidePaths.runtime] as const]),
    ...(spec.extensions ?? []).map(({ id, directory }) => [directory, `${insidePaths.extensions}/${id}`] as const),
    // Covers one file of the bundles: all others are trusted outside the sandbox as well.
    ...(spec.engine === undefined ? [] : [[join(files.host, hostNames.engine), insidePaths.engine] as const]),
  ] as const
  return [
    ...(plan.privileged ? privilegedOptions : userNamespaceOptions(plan)),
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-net', '--unshare-cgroup', '--new-session'],
    ...['--hostname', 'berth', '--clearenv'],
    ...Object.entries(insideEnvironment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...parentDirectories(['/etc/passwd', insidePaths.home, insidePaths.run, ...mountTargets(plan.systemMounts)]),
    ...plan.systemMounts,
    ...['passwd', 'group'].flatMap(name => ['--ro-bind', join(files.host, name), `/etc/${name}`]),
    ...['hosts', 'nsswitch.conf', 'gitconfig'].flatMap(name => ['--ro-bind', join(plan.etcDir, name), `/etc/${name}`]),
    ...(plan.bundlePath === undefined ? [] : ['--ro-bind', bundleFile(files.run), plan.bundlePath]),
    ...['--proc', '/proc', ...plan.processMasks, '--dev', '/dev'],
    ...['--perms', '1777', '--size', String(SHARED_MEMORY_BYTES), '--tmpfs', '/dev/shm'],
    ...['--bind', files.tmp, '/tmp', '--bind', files.home, insidePaths.home],
    // The platform's directory is its own mount, so that the agent, which owns /workspace, cannot rename it.
    ...['--bind', files.workspace, insidePaths.workspace, '--ro-bind', files.platform, insidePaths.platform],
    ...['--ro-bind', files.run, insidePaths.run],
    ...parentDirectories(shown.map(([, target]) => target)),
    ...shown.flatMap(([source, target]) => ['--ro-bind', source, target]),
    ...insidePaths.programs.flatMap(path => ['--symlink', `${insidePaths.bundles}/${basename(path)}`, path]),
    ...['--file', String(MILESTONE_FD), '/run/made'],
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', insidePaths.workspace],
  ]
}

const privilegedOptions = [
  ...['--cap-drop', 'ALL', '--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID', '--cap-add', 'CAP_SETPCAP'],
]

function userNamespaceOptions(plan: Plan): readonly string[] {
  const id = String(plan.uid)
  const noNesting = plan.canDisableUserNamespaces ? ['--disable-userns'] : []
  return ['--unshare-user', ...noNesting, '--uid', id, '--gid', id, '--cap-drop', 'ALL']
}

/** The parts of a plan for what runs inside. */
export type InsidePlan = Pick<Plan, 'uid' | 'privileged' | 'rlimits'> & {
  readonly spec: Pick<SandboxSpec, 'bounds' | 'command'>
}

/** Returns the command for bubblewrap: it sets limits, drops to the lease's uid, and runs the sandbox's command. */
export function insideCommand(plan: InsidePlan): readonly string[] {
  const { bounds, command } = plan.spec
  const limits = [
    ...(plan.rlimits.processes ? [`--nproc=${bounds.processes}`] : []),
    ...(plan.rlimits.memory ? [`--data=${Math.max(MIN_DATA_BYTES, Math.floor(bounds.memoryBytes))}`] : []),
  ]
  const id = String(plan.uid)
  const drop = ['setpriv', '--reuid', id, '--regid', id, '--clear-groups', '--no-new-privs', '--bounding-set=-all']
  return [
    ...(limits.length > 0 ? ['prlimit', ...limits, '--'] : []),
    ...(plan.privileged ? [...drop, '--inh-caps=-all', '--'] : []),
    ...command,
  ]
}

/** Node aborts at start with a lower `RLIMIT_DATA`. */
const MIN_DATA_BYTES = 1024 ** 3

import type { DriverContext } from './launch/driver-context.ts'

/** A bound that this host could enforce better, and the way to make it. */
export interface WeakBound {
  readonly bound: string
  /** The form that it has now. */
  readonly now: string
  /** For an operator: a command or a setting. */
  readonly next: string
}

const delegate =
  'give the service cgroups that it may write: Delegate=yes in its systemd unit, or --cgroupns=host -v /sys/fs/cgroup:/sys/fs/cgroup for its container'

/** Lists the bounds that `describeBounds` shows in a weaker form, most important first. */
export function weakBounds({
  host,
  cgroups,
  noLoopDisks,
  noLowerTrees,
  noUserNamespaces,
}: Pick<
  DriverContext,
  'host' | 'cgroups' | 'noLoopDisks' | 'noLowerTrees' | 'noUserNamespaces'
>): readonly WeakBound[] {
  if (!host.privileged) {
    return [
      {
        bound: 'identity',
        now: "all sandboxes have the service's own uid, and their bounds are rlimits of each process",
        next: 'start the service as root, which gives each sandbox a uid, a disk and cgroups of its own',
      },
    ]
  }
  const lacking = (['memory', 'pids', 'cpu'] as const).filter(name => cgroups?.controllers.has(name) !== true)
  return [
    ...(lacking.length === 0
      ? []
      : [{ bound: 'cgroups', now: `no writable cgroup with ${lacking.join(', ')}`, next: delegate }]),
    ...(cgroups?.freezer !== undefined
      ? []
      : [{ bound: 'freezer', now: 'processes between Runs are stopped by signals', next: delegate }]),
    ...(noUserNamespaces === undefined
      ? []
      : [{ bound: 'user namespaces', now: noUserNamespaces, next: 'sysctl -w user.max_user_namespaces=15000' }]),
    ...(noLoopDisks === undefined
      ? []
      : [{ bound: 'disk', now: noLoopDisks, next: 'modprobe loop && apt-get install e2fsprogs' }]),
    ...(noLowerTrees === undefined
      ? []
      : [
          {
            bound: 'overlay',
            now: `prebuilt trees are copied (${noLowerTrees})`,
            next: 'Linux 5.19 or newer, with overlayfs, and perl: modprobe overlay && apt-get install perl',
          },
        ]),
    ...(host.tracesClosedPrograms
      ? [
          {
            bound: 'supervisor',
            now: 'its agent can trace it (fs.suid_dumpable is 1)',
            next: 'sysctl -w fs.suid_dumpable=0',
          },
        ]
      : []),
  ]
}

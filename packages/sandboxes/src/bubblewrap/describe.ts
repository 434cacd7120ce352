import type { DriverContext } from './launch/driver-context.ts'

/** Returns one line per bound: how this host enforces it, and the requirement for something better. */
export function describeBounds(context: DriverContext): readonly string[] {
  const { cgroups, host, noLoopDisks } = context
  const has = (name: 'memory' | 'pids' | 'cpu') => cgroups?.controllers.has(name) ?? false
  const missing = (name: string) => `no writable cgroup with the ${name} controller`
  return [
    identityLine(context),
    'system calls: a filter for each sandbox and for programs in confinement',
    host.tracesClosedPrograms
      ? 'supervisor: its agent can trace it and take its journal, because fs.suid_dumpable is 1; set it to 0'
      : 'supervisor: closed to its agent',
    has('memory')
      ? 'memory: cgroup'
      : `memory: RLIMIT_DATA of each process, at least 1 GiB; a bound of the whole sandbox is missing (${missing('memory')})`,
    has('pids') ? 'processes: cgroup' : `processes: RLIMIT_NPROC inside the sandbox (${missing('pids')})`,
    has('cpu') ? 'cpu: cgroup' : `cpu: not bounded (${missing('cpu')})`,
    'file size: RLIMIT_FSIZE',
    noLoopDisks === undefined
      ? 'disk: a file system per sandbox'
      : `disk: measured every few seconds, a sandbox over its bound is ended (${noLoopDisks})`,
    context.noLowerTrees === undefined
      ? 'prebuilt trees: below each sandbox, copied on write'
      : `prebuilt trees: copied into each sandbox (${context.noLowerTrees})`,
    ...(context.options.pool === undefined
      ? []
      : [
          context.noLateMounts === undefined
            ? 'checkouts: mounted into sandboxes that stand ready'
            : `checkouts: in sandboxes that start for them (${context.noLateMounts})`,
        ]),
    context.noLowerTrees === undefined
      ? "system packages: a layer over the host's /usr"
      : `system packages: not possible (${context.noLowerTrees})`,
    ...(host.shell.leaking.length > 0
      ? [
          `descriptors: ${host.shell.leaking.join(', ')}, inherited by the service, stay open inside; closing them needs bash`,
        ]
      : []),
    cgroups?.freezer
      ? 'between Runs: all processes frozen by the cgroup freezer'
      : 'between Runs: all processes but the supervisor stopped by signals (no writable cgroup with a freezer)',
    cgroups?.canKill
      ? 'end: cgroup.kill'
      : 'end: a kill of the first process, which takes its pid namespace along (no writable cgroup with cgroup.kill)',
  ]
}

function identityLine({ host, noUserNamespaces }: DriverContext): string {
  if (!host.privileged) {
    return "identity: a user namespace of the service's own uid; a uid per sandbox needs a start as root"
  }
  if (noUserNamespaces === undefined) return 'identity: a uid and a user namespace per sandbox, without capabilities'
  return `identity: a uid per sandbox, without capabilities, in the host's user namespace (${noUserNamespaces})`
}

import type { Decision } from './decision.ts'
import type { SystemCall } from './system-calls.ts'

/** A filter's answers to the kernel: an action in the high half, an error number in the low half. */
const ERRNO = 0x0005_0000
export const answers = {
  allow: 0x7fff_0000,
  killProcess: 0x8000_0000,
  EPERM: ERRNO | 1,
  ENOSYS: ERRNO | 38,
  EPROTONOSUPPORT: ERRNO | 93,
  EAFNOSUPPORT: ERRNO | 97,
} as const

const answer = (name: keyof typeof answers): Decision => ({ answer: answers[name] })
const allow = answer('allow')

/** The `CLONE_NEW…` flags of `clone`: mount, cgroup, uts, ipc, user, pid and network namespaces. */
const NAMESPACES = 0x7e02_0000
/** `CLONE_NEWTIME` shares its bit with the exit signal of `clone`, so only `unshare` accepts it. */
const TIME_NAMESPACE = 0x80

/** Requests that push input into a terminal, do so through the console's menu, and load a line discipline's module. */
const terminalRequests = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c, TIOCSETD: 0x5423 } as const

const families = { UNIX: 1, INET: 2, INET6: 10, NETLINK: 16 } as const
/** Any, ICMP echo, TCP, UDP, ICMPv6 echo, and multipath TCP, which Go's listeners request. */
const internetProtocols = [0, 1, 6, 17, 58, 262]
/** Addresses and routes, for the resolver; device events, for libudev. */
const netlinkProtocols = [0, 15]

/**
 * Linux, with 32-bit mode or an old version number; the query that changes nothing; and no address randomization, which
 * debuggers and the thread sanitizer set for their own programs.
 */
const personalities = [0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff]

/** Calls that the filter refuses by their number alone. */
export const refusedCalls: readonly (readonly [answer: 'EPERM' | 'ENOSYS', calls: readonly SystemCall[]])[] = [
  [
    'EPERM',
    [
      // Keys belong to a uid of the host, across sandboxes and beyond their end.
      ...(['add_key', 'request_key', 'keyctl'] as const),
      // Kernel subsystems with a poor security record.
      ...(['bpf', 'perf_event_open', 'userfaultfd', 'fanotify_init', 'modify_ldt', 'uselib'] as const),
      // Other processes' memory and descriptors. `ptrace` of one's own children stays allowed.
      ...(['process_vm_readv', 'process_vm_writev', 'process_madvise', 'process_mrelease'] as const),
      ...(['pidfd_getfd', 'kcmp'] as const),
      // Entering other namespaces. `clone` and `unshare` are tested by argument.
      'setns',
      ...(['mount', 'umount2', 'pivot_root', 'chroot', 'open_tree', 'open_tree_attr', 'move_mount'] as const),
      ...(['fsopen', 'fsconfig', 'fsmount', 'fspick', 'mount_setattr'] as const),
      // Files by handle, which bypasses mounts that hide them.
      ...(['name_to_handle_at', 'open_by_handle_at'] as const),
      // Administration of the machine. It needs capabilities that no sandbox has; a second barrier costs nothing.
      ...(['syslog', 'acct', 'reboot', 'kexec_load', 'kexec_file_load', 'swapon', 'swapoff', 'vhangup'] as const),
      ...(['init_module', 'finit_module', 'delete_module', 'iopl', 'ioperm', 'quotactl', 'quotactl_fd'] as const),
      ...(['settimeofday', 'clock_settime', 'adjtimex', 'clock_adjtime', 'sethostname', 'setdomainname'] as const),
      'lsm_set_self_attr',
      // Placement of memory on the machine.
      ...(['mbind', 'set_mempolicy', 'set_mempolicy_home_node', 'migrate_pages', 'move_pages'] as const),
    ],
  ],
  [
    // Answered as by a kernel that lacks them, so that libraries fall back to older calls.
    'ENOSYS',
    [
      // Its flags lie behind a pointer, where no filter can read them.
      'clone3',
      ...(['io_uring_setup', 'io_uring_enter', 'io_uring_register'] as const),
      // Mounts and their sources, and which pages of shared system files other processes use.
      ...(['statmount', 'listmount', 'cachestat'] as const),
      ...(['sysfs', 'ustat', 'nfsservctl', 'lookup_dcookie'] as const),
    ],
  ],
]

/** Calls that are refused by their arguments. */
export const judgedCalls: readonly (readonly [call: SystemCall, decision: Decision])[] = [
  ['clone', { field: { argument: 0 }, anyBitOf: NAMESPACES, yes: answer('EPERM'), no: allow }],
  ['unshare', { field: { argument: 0 }, anyBitOf: NAMESPACES | TIME_NAMESPACE, yes: answer('EPERM'), no: allow }],
  ['ioctl', { field: { argument: 1 }, cases: [[Object.values(terminalRequests), answer('EPERM')]], otherwise: allow }],
  ['personality', { field: { argument: 0 }, cases: [[personalities, allow]], otherwise: answer('EPERM') }],
  [
    // Other families and protocols load modules on demand, and vsock ignores network namespaces.
    'socket',
    {
      field: { argument: 0 },
      cases: [
        [[families.UNIX], allow],
        [[families.INET, families.INET6], onlyProtocols(internetProtocols)],
        [[families.NETLINK], onlyProtocols(netlinkProtocols)],
      ],
      otherwise: answer('EAFNOSUPPORT'),
    },
  ],
  ['socketpair', { field: { argument: 0 }, cases: [[[families.UNIX], allow]], otherwise: answer('EAFNOSUPPORT') }],
]

function onlyProtocols(protocols: readonly number[]): Decision {
  return { field: { argument: 2 }, cases: [[protocols, allow]], otherwise: answer('EPROTONOSUPPORT') }
}

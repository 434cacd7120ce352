import type { Decision } from './decision.ts'
import type { SystemCall } from './system-calls.ts'

/** Answers that a filter gives the kernel: an action in the high half, an error number in the low. */
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

/** `CLONE_NEW…` as `clone` takes them: mount, cgroup, uts, ipc, user, pid and network namespaces. */
const NAMESPACES = 0x7e02_0000
/** `CLONE_NEWTIME` lies in the bits where `clone` keeps the signal of the child's end, so only `unshare` takes it. */
const TIME_NAMESPACE = 0x80

/** Puts input into a terminal, does so through the console's menu, and loads a line discipline's module. */
const terminalRequests = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c, TIOCSETD: 0x5423 } as const

const families = { UNIX: 1, INET: 2, INET6: 10, NETLINK: 16 } as const
/** Any, ICMP's echo, TCP, UDP, echo of ICMPv6, and the many-pathed TCP that Go's listeners ask for. */
const internetProtocols = [0, 1, 6, 17, 58, 262]
/** Addresses and routes, which the resolver asks for, and news of devices, which libudev listens for. */
const netlinkProtocols = [0, 15]

/**
 * Linux with its 32-bit face or the version number of old, the question that changes nothing, and addresses that are
 * not randomized, which debuggers and the thread sanitizer choose for their own programs.
 */
const personalities = [0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff]

/** Calls that the filter refuses by their number alone. */
export const refusedCalls: readonly (readonly [answer: 'EPERM' | 'ENOSYS', calls: readonly SystemCall[]])[] = [
  [
    'EPERM',
    [
      // Keys belong to a uid of the host, across sandboxes and beyond their end.
      ...(['add_key', 'request_key', 'keyctl'] as const),
      // Parts of the kernel that had more than their share of its faults.
      ...(['bpf', 'perf_event_open', 'userfaultfd', 'fanotify_init', 'modify_ldt', 'uselib'] as const),
      // Other processes' memory and descriptors. Tracing one's own children is `ptrace`, which stays.
      ...(['process_vm_readv', 'process_vm_writev', 'process_madvise', 'process_mrelease'] as const),
      ...(['pidfd_getfd', 'kcmp'] as const),
      // Namespaces of others. Making new ones is judged by argument.
      'setns',
      ...(['mount', 'umount2', 'pivot_root', 'chroot', 'open_tree', 'open_tree_attr', 'move_mount'] as const),
      ...(['fsopen', 'fsconfig', 'fsmount', 'fspick', 'mount_setattr'] as const),
      // Files by number, which lead past every mount that hides them.
      ...(['name_to_handle_at', 'open_by_handle_at'] as const),
      // The machine's own affairs. They need capabilities that no sandbox has; a second lock costs nothing.
      ...(['syslog', 'acct', 'reboot', 'kexec_load', 'kexec_file_load', 'swapon', 'swapoff', 'vhangup'] as const),
      ...(['init_module', 'finit_module', 'delete_module', 'iopl', 'ioperm', 'quotactl', 'quotactl_fd'] as const),
      ...(['settimeofday', 'clock_settime', 'adjtimex', 'clock_adjtime', 'sethostname', 'setdomainname'] as const),
      'lsm_set_self_attr',
      // Where memory lies on the machine.
      ...(['mbind', 'set_mempolicy', 'set_mempolicy_home_node', 'migrate_pages', 'move_pages'] as const),
    ],
  ],
  [
    // As on a kernel that lacks them, so that libraries take their older way.
    'ENOSYS',
    [
      // Its flags lie behind a pointer, where no filter can read them.
      'clone3',
      ...(['io_uring_setup', 'io_uring_enter', 'io_uring_register'] as const),
      // Mounts and their sources, and which pages of the system's shared files others have used.
      ...(['statmount', 'listmount', 'cachestat'] as const),
      ...(['sysfs', 'ustat', 'nfsservctl', 'lookup_dcookie'] as const),
    ],
  ],
]

/** Calls whose arguments decide. */
export const judgedCalls: readonly (readonly [call: SystemCall, decision: Decision])[] = [
  ['clone', { field: { argument: 0 }, anyBitOf: NAMESPACES, yes: answer('EPERM'), no: allow }],
  ['unshare', { field: { argument: 0 }, anyBitOf: NAMESPACES | TIME_NAMESPACE, yes: answer('EPERM'), no: allow }],
  ['ioctl', { field: { argument: 1 }, cases: [[Object.values(terminalRequests), answer('EPERM')]], otherwise: allow }],
  ['personality', { field: { argument: 0 }, cases: [[personalities, allow]], otherwise: answer('EPERM') }],
  [
    // Families and protocols other than these load modules on demand, and vsock belongs to no network namespace.
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

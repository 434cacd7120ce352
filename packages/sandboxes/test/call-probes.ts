/** A system call that runs by its number inside a sandbox, and the error that the kernel must return. */
export interface CallProbe {
  readonly name: string
  /** Null if the architecture lacks the call. */
  readonly x64: number | null
  readonly arm64: number | null
  /** Arguments in Perl's syntax, with `$supervisor` and `$pidfd_open` from `callScript`. */
  readonly args: string
  /** Names of errors; any of them passes. */
  readonly errors: readonly string[]
}

type Row = readonly [name: string, x64: number | null, arm64: number | null, args: string]

const rows = (errors: readonly string[], list: readonly Row[]): readonly CallProbe[] =>
  list.map(([name, x64, arm64, args]) => ({ name, x64, arm64, args, errors }))

const namespaces = ['user 0x10000000', 'mount 0x20000', 'network 0x40000000', 'pid 0x20000000', 'ipc 0x8000000']
const moreNamespaces = ['uts 0x4000000', 'cgroup 0x2000000']
const namespaceRows = [...namespaces, ...moreNamespaces].flatMap((line): Row[] => {
  const [kind, flag] = line.split(' ')
  return [
    [`unshare of a ${kind} namespace`, 272, 97, `${flag}`],
    [`unshare of a ${kind} namespace together with a user namespace`, 272, 97, `${flag} | 0x10000000`],
    [`clone into a ${kind} namespace`, 56, 220, `${flag} | 17, 0, 0, 0, 0`],
    [`clone into a ${kind} namespace within a user namespace`, 56, 220, `${flag} | 0x10000011, 0, 0, 0, 0`],
  ]
})

const EVENT = '"\\0" x 128'

/** Kernel interfaces that are closed to every sandbox. */
export const callProbes: readonly CallProbe[] = [
  ...rows(
    ['EPERM'],
    [
      ...namespaceRows,
      ['unshare of a time namespace', 272, 97, '0x80'],
      ['setns to the own network namespace', 308, 268, '$network, 0'],
      ['setns to the namespaces of a process', 308, 268, 'syscall($pidfd_open, $supervisor, 0), 0x10000000'],
      ['mount of a tmpfs', 165, 40, '"none", "/tmp", "tmpfs", 0, 0'],
      ['mount of proc', 165, 40, '"proc", "/tmp", "proc", 0, 0'],
      ['mount of an overlay', 165, 40, '"o", "/tmp", "overlay", 0, "lowerdir=/usr,upperdir=/tmp,workdir=/tmp"'],
      ['mount of a message queue', 165, 40, '"none", "/tmp", "mqueue", 0, 0'],
      ['mount of cgroups', 165, 40, '"none", "/tmp", "cgroup2", 0, 0'],
      ['mount of a file system of a program', 165, 40, '"none", "/tmp", "fuse", 0, "fd=3"'],
      ['a bind mount', 165, 40, '"/usr", "/tmp", 0, 0x1000, 0'],
      ['a remount to write', 165, 40, '0, "/usr", 0, 0x1020, 0'],
      ['umount of proc', 166, 39, '"/proc", 2'],
      ['umount of the platform directory', 166, 39, '"/workspace/.berth", 2'],
      ['pivot_root', 155, 41, '"/tmp", "/tmp"'],
      ['chroot', 161, 51, '"/tmp"'],
      ['fsopen', 430, 430, '"tmpfs", 0'],
      ['fsmount', 432, 432, '3, 0, 0'],
      ['fspick', 433, 433, '-100, "/usr", 0'],
      ['open_tree with a copy of the mount', 428, 428, '-100, "/usr", 1'],
      ['open_tree_attr', 467, 467, '-100, "/usr", 1, 0, 0'],
      ['move_mount', 429, 429, '-100, "/usr", -100, "/tmp", 0'],
      ['mount_setattr to write', 442, 442, `-100, "/usr", 0, ${EVENT}, 32`],
      ['add_key to the keyring of the uid', 248, 217, '"user", "berth-probe", "x", 1, -4'],
      ['request_key', 249, 218, '"user", "berth-probe", 0, -4'],
      ['keyctl for the keyring of the uid', 250, 219, '0, -4, 1'],
      ['keyctl for a session keyring', 250, 219, '1, 0'],
      ['bpf, a map', 321, 280, `0, ${EVENT}, 72`],
      ['bpf, a socket filter', 321, 280, `5, ${EVENT}, 72`],
      ['perf_event_open of itself', 298, 241, `${EVENT}, 0, -1, -1, 0`],
      ['userfaultfd', 323, 282, '0'],
      ['userfaultfd for user mode only', 323, 282, '1'],
      ['fanotify_init', 300, 262, '0, 0'],
      ['fanotify_init with names', 300, 262, '0x600, 0'],
      ['modify_ldt', 154, null, `1, ${EVENT}, 16`],
      ['iopl', 172, null, '3'],
      ['ioperm', 173, null, '0, 8, 1'],
      ['init_module', 175, 105, '"", 0, ""'],
      ['finit_module', 313, 273, '0, "", 0'],
      ['delete_module', 176, 106, '"loop", 0'],
      ['kexec_load', 246, 104, '0, 0, 0, 0'],
      ['kexec_file_load', 320, 294, '0, 0, 0, "", 0'],
      ['reboot, the harmless part', 169, 142, '0xfee1dead, 672274793, 0, 0'],
      ['swapon', 167, 224, '"/tmp/swap", 0'],
      ['acct', 163, 89, '"/tmp/acct"'],
      ['syslog', 103, 116, '3, " " x 64, 64'],
      ['sethostname', 170, 161, '"x", 1'],
      ['setdomainname', 171, 162, '"x", 1'],
      ['settimeofday', 164, 170, `${EVENT}, 0`],
      ['clock_settime', 227, 112, `0, ${EVENT}`],
      ['adjtimex', 159, 171, '"\\0" x 256'],
      ['quotactl', 179, 60, '0x80000100, "/dev/vda", 0, 0'],
      ['vhangup', 153, 58, ''],
      ['open_by_handle_at', 304, 265, `-100, ${EVENT}, 0`],
      ['name_to_handle_at', 303, 264, `-100, "/usr", ${EVENT}, ${EVENT}, 0`],
      ['mbind', 237, 235, '0, 4096, 0, 0, 0, 0'],
      ['move_pages of the supervisor', 279, 239, '$supervisor, 0, 0, 0, 0, 0'],
      ['migrate_pages of the supervisor', 256, 238, '$supervisor, 0, 0, 0'],
      ['personality with executable data', 135, 92, '0x400000'],
      ['ptrace, seize the supervisor', 101, 117, '0x4206, $supervisor, 0, 0'],
      ['ptrace, attach to the supervisor', 101, 117, '16, $supervisor, 0, 0'],
      ['process_vm_readv of the supervisor', 310, 270, `$supervisor, ${EVENT}, 1, ${EVENT}, 1, 0`],
      ['process_vm_writev of the supervisor', 311, 271, `$supervisor, ${EVENT}, 1, ${EVENT}, 1, 0`],
      ['pidfd_getfd of the listener', 438, 438, 'syscall($pidfd_open, $supervisor, 0), 3, 0'],
      ['pidfd_getfd of the journal', 438, 438, 'syscall($pidfd_open, $supervisor, 0), 4, 0'],
      ['kcmp with the supervisor', 312, 272, '$$, $supervisor, 0, 1, 4'],
      ['process_madvise of the supervisor', 440, 440, `syscall($pidfd_open, $supervisor, 0), ${EVENT}, 1, 21, 0`],
      ['process_mrelease of the supervisor', 448, 448, 'syscall($pidfd_open, $supervisor, 0), 0'],
      ['a device node of memory', 259, 33, '-100, "/tmp/mem", 0020666, 0x101'],
      ['a device node of the first disk', 259, 33, '-100, "/tmp/disk", 0060666, 0x700'],
      ['a socket of the internet, raw', 41, 198, '2, 3, 1'],
      ['a socket of the internet, raw, version 6', 41, 198, '10, 3, 58'],
    ],
  ),
  ...rows(
    // EINVAL in a user namespace without such a user.
    ['EPERM', 'EINVAL'],
    [
      ['setuid to root', 105, 146, '0'],
      ['setresuid to root', 117, 147, '0, 0, 0'],
      ['setgid to root', 106, 144, '0'],
      ['setgroups', 116, 159, '1, "\\0\\0\\0\\0"'],
      ['setuid to another', 105, 146, '1'],
    ],
  ),
  ...rows(
    ['EAFNOSUPPORT'],
    (
      [
        ['AX25', 3],
        ['X25', 9],
        ['KEY', 15],
        ['PACKET', 17],
        ['RDS', 21],
        ['LLC', 26],
        ['CAN', 29],
        ['TIPC', 30],
        ['BLUETOOTH', 31],
        ['ALG', 38],
        ['NFC', 39],
        ['VSOCK', 40],
        ['KCM', 41],
        ['QIPCRTR', 42],
        ['SMC', 43],
        ['XDP', 44],
      ] as const
    ).flatMap(([family, number]): Row[] => [
      [`a socket of AF_${family}, raw`, 41, 198, `${number}, 3, 0`],
      [`a socket of AF_${family}, sequenced`, 41, 198, `${number}, 5, 0`],
    ]),
  ),
  ...rows(
    ['EAFNOSUPPORT'],
    [
      ['a stream of AF_VSOCK', 41, 198, '40, 1, 0'],
      ['a pair of AF_TIPC', 53, 199, '30, 1, 0, "\\0" x 8'],
    ],
  ),
  ...rows(
    ['EPROTONOSUPPORT'],
    [
      ['a socket of SCTP', 41, 198, '2, 1, 132'],
      ['a socket of DCCP', 41, 198, '2, 6, 33'],
      ['a socket of L2TP', 41, 198, '2, 2, 115'],
      ['a socket of raw IP', 41, 198, '2, 3, 255'],
      ['a socket of packets, the old way', 41, 198, '2, 10, 768'],
      ['a socket of the packet filter', 41, 198, '16, 3, 12'],
      ['a socket of the audit', 41, 198, '16, 3, 9'],
      ['a socket of generic netlink', 41, 198, '16, 3, 16'],
      ['a socket of the crypto configuration', 41, 198, '16, 3, 21'],
      ['a socket of IPsec configuration', 41, 198, '16, 3, 6'],
    ],
  ),
  ...rows(
    ['ENOSYS'],
    [
      ['clone3', 435, 435, '"\\0" x 88, 88'],
      ['io_uring_setup', 425, 425, '8, "\\0" x 120'],
      ['io_uring_enter', 426, 426, '0, 0, 0, 0, 0, 0'],
      ['io_uring_register', 427, 427, '0, 0, 0, 0'],
      ['cachestat', 451, 451, '0, 0, 0, 0'],
      ['statmount', 457, 457, '0, 0, 0, 0'],
      ['listmount', 458, 458, '0, 0, 0, 0'],
      ['lookup_dcookie', 212, 18, '0, 0, 0'],
      ['a call newer than the filter', 470, 470, ''],
      ['a call that no kernel has', 5000, 5000, ''],
    ],
  ),
]

/**
 * Returns a Perl script that makes each call in its own process and prints one line for each: its index in the list,
 * and its error number, or 0 if the call succeeded.
 */
export function callScript(probes: readonly CallProbe[]): string {
  const calls = probes.map(
    ({ x64, arm64, args }) => `[${(process.arch === 'x64' ? x64 : arm64) ?? -1}, sub { (${args}) }]`,
  )
  return `
    my $supervisor = qx(pgrep -x berth-superviso) + 0;
    my $pidfd_open = 434;
    open(my $namespace, '<', '/proc/self/ns/net');
    my $network = fileno($namespace);
    my @calls = (${calls.join(',\n')});
    for my $at (0 .. $#calls) {
      my $child = fork() // die;
      if ($child) { waitpid($child, 0); next }
      my ($number, $args) = @{$calls[$at]};
      my @words = $args->();
      my $answer = syscall($number, @words);
      syswrite(STDOUT, "$at " . ($answer == -1 ? $! + 0 : 0) . "\n");
      exit;
    }`
}

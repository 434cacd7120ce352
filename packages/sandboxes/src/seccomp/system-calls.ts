/** Architectures that have a filter, with the kernel's `AUDIT_ARCH_…`. */
export const architectures = { x64: 0xc000003e, arm64: 0xc00000b7 } as const

/** An architecture, by Node's name for it. */
export type Architecture = keyof typeof architectures

/**
 * The newest system call that the policy considers: `file_setattr` of Linux 6.17. From 424 on, all architectures share
 * the same numbers.
 */
export const NEWEST_SYSTEM_CALL = 469

/**
 * Numbers of the system calls that the policy names, on x64 (`arch/x86/entry/syscalls/syscall_64.tbl`) and arm64
 * (`scripts/syscall.tbl`). Null if the architecture lacks the call.
 */
export const systemCalls = {
  ioctl: [16, 29],
  socket: [41, 198],
  socketpair: [53, 199],
  clone: [56, 220],
  syslog: [103, 116],
  uselib: [134, null],
  personality: [135, 92],
  ustat: [136, null],
  sysfs: [139, null],
  vhangup: [153, 58],
  modify_ldt: [154, null],
  pivot_root: [155, 41],
  adjtimex: [159, 171],
  chroot: [161, 51],
  acct: [163, 89],
  settimeofday: [164, 170],
  mount: [165, 40],
  umount2: [166, 39],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  iopl: [172, null],
  ioperm: [173, null],
  init_module: [175, 105],
  delete_module: [176, 106],
  quotactl: [179, 60],
  nfsservctl: [180, 42],
  lookup_dcookie: [212, 18],
  clock_settime: [227, 112],
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  kexec_load: [246, 104],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  migrate_pages: [256, 238],
  unshare: [272, 97],
  move_pages: [279, 239],
  perf_event_open: [298, 241],
  fanotify_init: [300, 262],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  clock_adjtime: [305, 266],
  setns: [308, 268],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  finit_module: [313, 273],
  kexec_file_load: [320, 294],
  bpf: [321, 280],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  clone3: [435, 435],
  pidfd_getfd: [438, 438],
  process_madvise: [440, 440],
  mount_setattr: [442, 442],
  quotactl_fd: [443, 443],
  process_mrelease: [448, 448],
  set_mempolicy_home_node: [450, 450],
  cachestat: [451, 451],
  statmount: [457, 457],
  listmount: [458, 458],
  lsm_set_self_attr: [460, 460],
  open_tree_attr: [467, 467],
} as const satisfies Readonly<Record<string, readonly [x64: number, arm64: number | null]>>

/** A system call that the policy names. */
export type SystemCall = keyof typeof systemCalls

/** Returns the numbers of calls on an architecture, without those that it lacks. */
export function numbersOf(calls: readonly SystemCall[], architecture: Architecture): readonly number[] {
  return calls.flatMap(call => systemCalls[call][architecture === 'x64' ? 0 : 1] ?? [])
}

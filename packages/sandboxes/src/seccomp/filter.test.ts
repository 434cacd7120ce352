import { describe, expect, it } from 'vitest'
import { interpretFilter } from '../testing/filter-interpreter.ts'
import { compile } from './decision.ts'
import { systemCallFilter } from './filter.ts'
import { answers, judgedCalls, refusedCalls } from './policy.ts'
import { numbersOf } from './system-calls.ts'

type Answer = keyof typeof answers

// The kernel's numbers and constants are repeated here, because the policy's own tables are under test too.
const AUDIT_ARCH = { x64: 0xc000003e, arm64: 0xc00000b7, i386: 0x40000003, arm: 0x40000028 }
const CLONE = { VM: 0x100n, FS: 0x200n, FILES: 0x400n, NEWNS: 0x20000n, NEWUSER: 0x10000000n, NEWTIME: 0x80n }
const SIGCHLD = 17n
const HIGH = 0xdead_beef_0000_0000n

/** Name, number on x64, number on arm64, arguments, answer. */
const cases: readonly (readonly [string, number | null, number, readonly bigint[], Answer])[] = [
  ['read', 0, 63, [], 'allow'],
  ['openat', 257, 56, [], 'allow'],
  ['execve', 59, 221, [], 'allow'],
  ['ptrace of an own child', 101, 117, [16n, 7n], 'allow'],
  ['seccomp', 317, 277, [], 'allow'],
  ['landlock_create_ruleset', 444, 444, [], 'allow'],
  ['landlock_restrict_self', 446, 446, [], 'allow'],
  ['mseal', 462, 462, [], 'allow'],
  ['uretprobe, which the kernel itself puts into programs', 335, 463, [], 'allow'],
  ['prctl', 157, 167, [], 'allow'],
  ['prlimit64', 302, 261, [], 'allow'],
  ['setresuid', 117, 147, [], 'allow'],
  ['capset', 126, 91, [], 'allow'],
  ['file_setattr, the newest known', 469, 469, [], 'allow'],
  ['keyctl', 250, 219, [], 'EPERM'],
  ['add_key', 248, 217, [], 'EPERM'],
  ['request_key', 249, 218, [], 'EPERM'],
  ['bpf', 321, 280, [], 'EPERM'],
  ['perf_event_open', 298, 241, [], 'EPERM'],
  ['userfaultfd', 323, 282, [], 'EPERM'],
  ['fanotify_init', 300, 262, [], 'EPERM'],
  ['modify_ldt', 154, 1000, [], 'EPERM'],
  ['mount', 165, 40, [], 'EPERM'],
  ['umount2', 166, 39, [], 'EPERM'],
  ['pivot_root', 155, 41, [], 'EPERM'],
  ['chroot', 161, 51, [], 'EPERM'],
  ['move_mount', 429, 429, [], 'EPERM'],
  ['fsopen', 430, 430, [], 'EPERM'],
  ['mount_setattr', 442, 442, [], 'EPERM'],
  ['open_tree_attr', 467, 467, [], 'EPERM'],
  ['setns', 308, 268, [], 'EPERM'],
  ['name_to_handle_at', 303, 264, [], 'EPERM'],
  ['open_by_handle_at', 304, 265, [], 'EPERM'],
  ['process_vm_readv', 310, 270, [], 'EPERM'],
  ['process_vm_writev', 311, 271, [], 'EPERM'],
  ['pidfd_getfd', 438, 438, [], 'EPERM'],
  ['kcmp', 312, 272, [], 'EPERM'],
  ['init_module', 175, 105, [], 'EPERM'],
  ['kexec_load', 246, 104, [], 'EPERM'],
  ['reboot', 169, 142, [], 'EPERM'],
  ['mbind', 237, 235, [], 'EPERM'],
  ['io_uring_setup', 425, 425, [], 'ENOSYS'],
  ['io_uring_enter', 426, 426, [], 'ENOSYS'],
  ['io_uring_register', 427, 427, [], 'ENOSYS'],
  ['clone3', 435, 435, [], 'ENOSYS'],
  ['statmount', 457, 457, [], 'ENOSYS'],
  ['cachestat', 451, 451, [], 'ENOSYS'],
  ['the first that is not known', 470, 470, [], 'ENOSYS'],
  ['one far off', 0x3fff_ffff, 0x3fff_ffff, [], 'ENOSYS'],
  ['the number of a call that a tracer skips', -1, -1, [], 'ENOSYS'],
  ['fork by clone', 56, 220, [SIGCHLD], 'allow'],
  ['a thread by clone', 56, 220, [CLONE.VM | CLONE.FS | CLONE.FILES], 'allow'],
  ['clone into a user namespace', 56, 220, [CLONE.NEWUSER | SIGCHLD], 'EPERM'],
  ['clone into a mount namespace', 56, 220, [CLONE.NEWNS], 'EPERM'],
  ['clone into a cgroup namespace', 56, 220, [0x2000000n], 'EPERM'],
  ['clone into a network namespace, with high bits set', 56, 220, [HIGH | 0x40000000n], 'EPERM'],
  ['unshare of files', 272, 97, [CLONE.FILES], 'allow'],
  ['unshare of a user namespace', 272, 97, [CLONE.NEWUSER], 'EPERM'],
  ['unshare of a time namespace', 272, 97, [CLONE.NEWTIME], 'EPERM'],
  ['unshare of a pid namespace, with high bits set', 272, 97, [HIGH | 0x20000000n], 'EPERM'],
  ['ioctl FIONREAD', 16, 29, [0n, 0x541bn], 'allow'],
  ['ioctl TIOCSTI', 16, 29, [0n, 0x5412n], 'EPERM'],
  ['ioctl TIOCSTI with high bits set', 16, 29, [0n, HIGH | 0x5412n], 'EPERM'],
  ['ioctl TIOCLINUX', 16, 29, [0n, 0x541cn], 'EPERM'],
  ['ioctl TIOCSETD', 16, 29, [0n, 0x5423n], 'EPERM'],
  ['ioctl with that number for a descriptor', 16, 29, [0x5412n, 0x541bn], 'allow'],
  ['personality, asked', 135, 92, [0xffff_ffffn], 'allow'],
  ['personality without randomized addresses', 135, 92, [0x40000n], 'allow'],
  ['personality READ_IMPLIES_EXEC', 135, 92, [0x400000n], 'EPERM'],
  ['a socket of AF_UNIX', 41, 198, [1n, 1n, 0n], 'allow'],
  ['a socket of AF_INET for TCP', 41, 198, [2n, 1n, 6n], 'allow'],
  ['a socket of AF_INET6 for UDP', 41, 198, [10n, 2n, 17n], 'allow'],
  ['a socket of AF_INET for SCTP', 41, 198, [2n, 1n, 132n], 'EPROTONOSUPPORT'],
  ['a socket of AF_INET for L2TP', 41, 198, [2n, 2n, 115n], 'EPROTONOSUPPORT'],
  ['a raw socket of AF_INET', 41, 198, [2n, 3n, 255n], 'EPROTONOSUPPORT'],
  ['a socket of NETLINK_ROUTE', 41, 198, [16n, 3n, 0n], 'allow'],
  ['a socket of NETLINK_NETFILTER', 41, 198, [16n, 3n, 12n], 'EPROTONOSUPPORT'],
  ['a socket of NETLINK_GENERIC', 41, 198, [16n, 3n, 16n], 'EPROTONOSUPPORT'],
  ['a socket of AF_PACKET', 41, 198, [17n, 3n, 0n], 'EAFNOSUPPORT'],
  ['a socket of AF_ALG', 41, 198, [38n, 5n, 0n], 'EAFNOSUPPORT'],
  ['a socket of AF_VSOCK', 41, 198, [40n, 1n, 0n], 'EAFNOSUPPORT'],
  ['a socket of AF_VSOCK with high bits set', 41, 198, [HIGH | 40n, 1n, 0n], 'EAFNOSUPPORT'],
  ['a socket of AF_KEY', 41, 198, [15n, 3n, 2n], 'EAFNOSUPPORT'],
  ['a pair of AF_UNIX', 53, 199, [1n, 1n, 0n], 'allow'],
  ['a pair of AF_TIPC', 53, 199, [30n, 1n, 0n], 'EAFNOSUPPORT'],
]

const answerName = (answer: number) => Object.entries(answers).find(([, value]) => value === answer)?.[0] ?? answer

describe.each(['x64', 'arm64'] as const)('the system-call filter of %s', architecture => {
  const filter = systemCallFilter(architecture)
  const ask = (number: number, args: readonly bigint[] = [], arch = AUDIT_ARCH[architecture]) =>
    answerName(interpretFilter(filter, { architecture: arch, number, arguments: args }))

  it.each(cases)('answers %s', (_, x64, arm64, args, expected) => {
    const number = architecture === 'x64' ? x64 : arm64
    // A call that an architecture lacks gets an unused number there.
    const unknown = number === null || number === 1000
    expect(ask(number ?? 1000, args)).toBe(unknown ? 'ENOSYS' : expected)
  })

  it('allows every call that it does not name, with any argument', () => {
    const named = [...refusedCalls.flatMap(([, calls]) => calls), ...judgedCalls.map(([call]) => call)]
    const numbers = new Set(numbersOf(named, architecture))
    expect(numbers.size).toBeGreaterThan(60)
    for (let number = 0; number <= 469; number++) {
      if (!numbers.has(number)) expect(ask(number, Array(6).fill(0xffff_ffff_ffff_ffffn)), `${number}`).toBe('allow')
    }
  })

  it('kills a process that makes calls of another architecture', () => {
    for (const foreign of Object.values(AUDIT_ARCH)) {
      if (foreign !== AUDIT_ARCH[architecture]) expect(ask(0, [], foreign)).toBe('killProcess')
    }
  })

  it('kills a process that makes x32 calls', () => {
    expect(ask(0x4000_0000)).toBe('killProcess')
    expect(ask(0x4000_0000 + 520)).toBe('killProcess')
  })

  it('has whole instructions, and no more than the kernel accepts', () => {
    expect(filter.length % 8).toBe(0)
    expect(filter.length / 8).toBeLessThan(4096)
  })
})

describe('the system-call filter', () => {
  it('is refused for an architecture without a table', () => {
    expect(() => systemCallFilter('riscv64')).toThrow(/on x64 and arm64 only/)
  })

  it('is not compiled if a branch is too long for a jump', () => {
    const long = Array.from({ length: 300 }, (_, value) => value)
    const decision = { field: 'number', cases: [[long, { answer: 1 }]], otherwise: { answer: 0 } } as const
    expect(() => compile(decision)).toThrow(RangeError)
  })
})

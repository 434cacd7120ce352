/** A bash script that runs inside a sandbox. `$supervisor` is the supervisor's process. */
export interface ScriptProbe {
  readonly name: string
  readonly script: string
  /** Expected output, including standard error; a string must match all of it except surrounding space. */
  readonly says: string | RegExp
  /**
   * True if the probe holds only if the service runs as root. Otherwise the first process of a sandbox, bubblewrap's,
   * runs as the agent's user. It holds nothing of the service except its log.
   */
  readonly onlyAsRoot: boolean
}

type Row = readonly [name: string, script: string, says: string | RegExp]

const onlyAsRoot = /\/proc\/1\/(oom_score_adj|mem|root|cwd)/

const denied =
  /Permission denied|Invalid argument|Operation not permitted|Read-only file system|No such (file|device)|cannot (open|access)/

/** Succeeds if no byte of a file can be read: it is missing, closed or empty. */
const unread = (path: string) => `head -c 1 ${path} 2>/dev/null | wc -c`

const writes: readonly Row[] = [
  '/proc/sys/kernel/core_pattern',
  '/proc/sys/kernel/modprobe',
  '/proc/sys/kernel/hostname',
  '/proc/sys/kernel/panic',
  '/proc/sys/kernel/yama/ptrace_scope',
  '/proc/sys/fs/suid_dumpable',
  '/proc/sys/fs/binfmt_misc/register',
  '/proc/sys/vm/overcommit_memory',
  '/proc/sys/vm/drop_caches',
  '/proc/sys/net/ipv4/ip_forward',
  '/proc/sys/net/ipv4/ping_group_range',
  '/proc/sysrq-trigger',
  '/proc/irq/default_smp_affinity',
  '/proc/self/uid_map',
  '/proc/self/gid_map',
  '/proc/self/setgroups',
  '/proc/1/oom_score_adj',
  '/proc/1/mem',
  '/proc/$supervisor/oom_score_adj',
  '/proc/$supervisor/mem',
  '/proc/$supervisor/comm',
  '/proc/$supervisor/clear_refs',
  '/proc/$supervisor/coredump_filter',
  '/proc/$supervisor/fd/1',
  '/proc/$supervisor/fd/3',
  '/proc/$supervisor/fd/4',
  '/proc/$supervisor/cwd/x',
  '/proc/1/root/tmp/x',
  '/opt/berth/node',
  '/opt/berth/closed/node',
  '/opt/berth/bundles/x',
  '/run/berth/proxy.sock',
  '/run/made',
  '/etc/passwd',
  '/etc/ld.so.preload',
  '/usr/bin/x',
  '/dev/x',
  '/x',
].map(path => [`writing ${path}`, `exec 2>&1; echo 1 > ${path} && echo written`, denied])

const unreadable: readonly Row[] = [
  '/proc/kcore',
  '/proc/keys',
  '/proc/key-users',
  '/proc/interrupts',
  '/proc/timer_list',
  '/proc/latency_stats',
  '/proc/sched_debug',
  '/proc/kmsg',
  '/proc/slabinfo',
  '/proc/vmallocinfo',
  '/proc/kpagecount',
  '/proc/$supervisor/mem',
  '/proc/$supervisor/environ',
  '/proc/$supervisor/auxv',
  '/proc/$supervisor/maps',
  '/proc/$supervisor/smaps',
  '/proc/$supervisor/pagemap',
  '/proc/$supervisor/stack',
  '/proc/$supervisor/syscall',
  '/proc/$supervisor/io',
  '/proc/$supervisor/exe',
  '/opt/berth/closed/node',
  '/etc/shadow',
  '/etc/gshadow',
  '/etc/machine-id',
  '/etc/hostname',
  '/etc/resolv.conf',
  '/dev/mem',
  '/dev/kmsg',
  '/dev/port',
  '/dev/loop0',
  '/dev/loop-control',
  '/dev/fuse',
  '/dev/kvm',
  '/dev/net/tun',
  '/dev/vda',
  '/dev/sda',
  '/dev/userfaultfd',
  '/dev/vhost-vsock',
].map(path => [`reading ${path}`, unread(path), '0'])

const absent: readonly Row[] = [
  '/root',
  '/home/!(agent)',
  '/boot',
  '/sys',
  '/sys/fs/cgroup',
  '/var',
  '/srv',
  '/mnt',
  '/media',
  '/run/!(berth|made)',
  '/etc/ssh',
  '/etc/ssl/private',
  '/etc/sudoers',
  '/proc/1/root/*',
  '/proc/1/cwd/*',
  '/proc/$supervisor/root/*',
  '/proc/$supervisor/cwd/*',
  '/proc/$supervisor/fd/*',
  '/proc/$supervisor/map_files/*',
  '/tmp/.X11-unix',
].map(path => [
  `finding ${path}`,
  `shopt -s extglob nullglob dotglob\nall=(${path}); ls -d "\${all[@]:-/none}" 2>/dev/null`,
  '',
])

const others: readonly Row[] = [
  ['listing descriptors of the supervisor', 'ls /proc/$supervisor/fd 2>&1', denied],
  ['resolving the program of the supervisor', 'readlink /proc/$supervisor/exe; echo $?', '1'],
  ['resolving namespaces of the supervisor', 'readlink /proc/$supervisor/ns/net; echo $?', '1'],
  ['copying the program of the supervisor', 'cp /opt/berth/closed/node /tmp/copy 2>&1', denied],
  ['opening the program of the supervisor to readers', 'chmod a+r /opt/berth/closed/node 2>&1', denied],
  ['loading the program of the supervisor', '/lib64/ld-linux-*.so.2 /opt/berth/closed/node -v 2>&1', denied],
  ['tracing the supervisor with strace', 'strace -p $supervisor 2>&1', /Operation not permitted/],
  [
    'calling the 32-bit kernel',
    'printf %s "$int80" | base64 -d > /tmp/i; chmod +x /tmp/i; /tmp/i; echo $?',
    /(^|\n)159$/,
  ],
  [
    'having descriptors of the service',
    'ls -l /proc/[0-9]*/fd 2>/dev/null | grep -E "journal|/host/(s|arguments|script)|listen"',
    '',
  ],
  [
    'a way to more privileges',
    'grep -E "^(NoNewPrivs|Seccomp):" /proc/self/status | tr -d "[:space:]"',
    'NoNewPrivs:1Seccomp:2',
  ],
  ["the host's user namespace", 'cat /proc/self/uid_map', /^\d+\s+\d+\s+1$/],
  ['capabilities', 'grep -E "^Cap(Inh|Prm|Eff|Bnd|Amb):\\s0*[1-9a-f]" /proc/self/status', ''],
  ['mounts that honour set-uid bits', 'grep -v "[ ,]nosuid[ ,]" /proc/self/mountinfo | cut -d " " -f 5', ''],
  ['mounts of devices', 'awk \'$6 !~ /nodev/ {print $5}\' /proc/self/mountinfo | grep -v "^/dev/"', ''],
  [
    "writable mounts beyond the agent's own",
    'awk \'$6 ~ /^rw/ {print $5}\' /proc/self/mountinfo | sort | tr "\\n" " "',
    /^(\/dev\/\S+ |\/home\/agent |\/proc |\/tmp |\/workspace ?)+$/,
  ],
  ['shared mounts', 'grep -E " shared:" /proc/self/mountinfo', ''],
  [
    'devices beyond the harmless',
    'find /dev -type b -o -type c | grep -vE "^/dev/(null|zero|full|random|urandom|tty|console|ptmx|pts/[0-9]+|pts/ptmx)$"',
    '',
  ],
  ['a terminal to speak through', 'exec 5<>/dev/tty', /No such device/],
  ['network interfaces beyond loopback', 'tail -n +3 /proc/net/dev | cut -d : -f 1 | tr -d " "', 'lo'],
  ['routes', 'tail -n +2 /proc/net/route', ''],
  [
    'abstract sockets of the host',
    'perl -MSocket -e \'socket(my $s, AF_UNIX, SOCK_STREAM, 0); print connect($s, pack_sockaddr_un("\\0$ENV{abstract}")) ? "connected" : $!\'',
    'Connection refused',
  ],
  ['memory that programs of the host share', 'ipcs -a | grep -c "^0x"', '0'],
  ['another cgroup', 'cat /proc/self/cgroup | grep -v ":/$"', ''],
  ['processes of the host', 'ps -eo pid=,uid= | awk -v own="$(id -u)" \'$1 != 1 && $2 != own\'', ''],
  ['a signal to a process of the host', 'kill -0 $host 2>&1 && echo reached', /No such process/],
  [
    'the end of the first process',
    'kill -KILL 1 2>/dev/null; kill -STOP 1 2>/dev/null; sleep 0; grep State /proc/1/status | cut -f 2',
    /^[SRD]/,
  ],
  ['core files', 'ulimit -c; ulimit -c unlimited 2>&1', /^0\n.*(not permitted|cannot modify)/],
  ['files beyond the bound', 'ulimit -f unlimited 2>&1', /not permitted|cannot modify/],
  [
    'a place before the service in memory trouble',
    'echo 0 2>/dev/null > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj',
    /^([1-9]\d*|0)$/,
  ],
  [
    'files of other users',
    'find / -xdev -not -path "/proc/*" -writable -not -user "$(id -u)" -not -type l 2>/dev/null | grep -vE "^/(tmp|dev(/.*)?)$"',
    '',
  ],
  ['giving files away', 'touch /tmp/mine; chown 0 /tmp/mine 2>&1', denied],
  ['hard links to files of the system', 'ln /usr/bin/env /tmp/env 2>&1', /failed to create|cross-device|not permitted/],
  [
    'moving the platform directory',
    'mv /workspace/.berth /workspace/old 2>&1',
    /busy|denied|not permitted|cannot move/,
  ],
  [
    'secrets of the host in the environment',
    'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n" | grep -iE "berth_|canary|token|secret"',
    '',
  ],
  [
    'private keys of the host',
    'find / -xdev -name "*.key" -o -xdev -name "*.pem" -path "*private*" 2>/dev/null | grep -v "^/usr/"',
    '',
  ],
]

/** Files, processes and devices that are closed to every sandbox. */
export const scriptProbes: readonly ScriptProbe[] = [...writes, ...unreadable, ...absent, ...others].map(
  ([name, script, says]) => ({ name, script, says, onlyAsRoot: onlyAsRoot.test(name) }),
)

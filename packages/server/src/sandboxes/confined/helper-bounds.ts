/** Bounds of one helper program: git, a seal, a restore, a decoder. */
export interface HelperBounds {
  /** Private memory of each of its processes (`RLIMIT_DATA`): what nobody can take back from it. */
  readonly memoryBytes: number
  /** Processor time of each of its processes. */
  readonly cpuSeconds: number
  /** Size of each file that it writes. */
  readonly fileBytes: number
}

/** A bound that ended a helper program, in words for people. */
export type HelperBound = 'memory' | 'processor time' | 'file size' | 'processes'

/** A process that ignores the warning at its bound of processor time is killed so much later. */
const GRACE_SECONDS = 5
/** The unit of `ulimit -f` in every POSIX shell. */
const BLOCK_BYTES = 512
/** A host that runs out of memory ends helper programs ahead of the service. */
const OOM_SCORE = 300

/**
 * Words of a command that become the command which follows them, within its bounds and in the cgroups of `joinFiles`. A
 * limit that is lower already stays.
 */
export function boundedWords(bounds: HelperBounds, joinFiles: readonly string[]): readonly string[] {
  const { memoryBytes, cpuSeconds, fileBytes } = bounds
  const limits = [
    'ulimit -c 0',
    `ulimit -d ${Math.ceil(memoryBytes / 1024)}`,
    `ulimit -f ${Math.ceil(fileBytes / BLOCK_BYTES)}`,
    // The soft limit says by SIGXCPU which bound it was; at the hard one the process would just be killed.
    `ulimit -S -t ${cpuSeconds}`,
    `ulimit -H -t ${cpuSeconds + GRACE_SECONDS}`,
    `echo ${OOM_SCORE} > /proc/self/oom_score_adj`,
  ]
  const script = `{ ${limits.join('; ')}; } 2>/dev/null; while [ "$1" != -- ]; do echo 0 > "$1" || exit 97; shift; done; shift; exec "$@"`
  return ['/bin/sh', '-c', script, 'berth-helper', ...joinFiles, '--']
}

const signals: Readonly<Record<string, HelperBound>> = {
  SIGXCPU: 'processor time',
  SIGXFSZ: 'file size',
  // Its own bound fails an allocation; the cgroup's kills, and nothing else that kills is unknown to the caller.
  SIGKILL: 'memory',
}
/** A shell and bubblewrap tell of a signal by adding 128. */
const codes: Readonly<Record<string, HelperBound>> = { 152: 'processor time', 153: 'file size', 137: 'memory' }
const words: readonly (readonly [RegExp, HelperBound])[] = [
  // So git tells of the programs that it starts.
  [/died of signal 24/, 'processor time'],
  [/died of signal 25/, 'file size'],
  [/died of signal 9\b/, 'memory'],
  [/out of memory|cannot allocate memory|ENOMEM|bad_alloc/i, 'memory'],
  [/file too large|EFBIG/i, 'file size'],
  [/resource temporarily unavailable|unable to create (async )?thread|ERR_WORKER_INIT_FAILED/i, 'processes'],
]

/**
 * The bound that ended a program which its caller did not end, as far as its end and its words show it.
 * @param end exit code or name of a signal
 * @param said what the program said of its errors
 */
export function boundOf(end: number | string | null, said: string): HelperBound | undefined {
  if (end === 0 || end === null) return undefined
  const known = typeof end === 'number' ? codes[end] : signals[end]
  return known ?? words.find(([pattern]) => pattern.test(said))?.[1]
}

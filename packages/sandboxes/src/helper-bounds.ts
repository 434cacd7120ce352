/** Bounds of one helper program: git, a seal, a restore, a decoder. */
export interface HelperBounds {
  /** Private memory of each of its processes (`RLIMIT_DATA`), which the kernel cannot reclaim. */
  readonly memoryBytes: number
  /** Processor time of each of its processes. */
  readonly cpuSeconds: number
  /** Size of each file that it writes. */
  readonly fileBytes: number
}

/** A bound that ended a helper program, in words for people. */
export type HelperBound = 'memory' | 'processor time' | 'file size' | 'processes'

/** The delay after which a process that ignores SIGXCPU is killed. */
const GRACE_SECONDS = 5
/** The unit of `ulimit -f` in every POSIX shell. */
const BLOCK_BYTES = 512
/** Makes a host that runs out of memory kill helper programs before the service. */
const OOM_SCORE = 300

/**
 * Returns the words of a command that applies the bounds, joins the cgroups of `joinFiles`, and becomes the command
 * after it. Limits that are already lower stay.
 */
export function boundedCommand(bounds: HelperBounds, joinFiles: readonly string[]): readonly string[] {
  const { memoryBytes, cpuSeconds, fileBytes } = bounds
  const limits = [
    'ulimit -c 0',
    `ulimit -d ${Math.ceil(memoryBytes / 1024)}`,
    `ulimit -f ${Math.ceil(fileBytes / BLOCK_BYTES)}`,
    // The soft limit names the bound by SIGXCPU; at the hard limit the process would only be killed.
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
  // RLIMIT_DATA only makes an allocation fail; the memory cgroup kills. The caller knows of every other kill.
  SIGKILL: 'memory',
}
/** A shell and bubblewrap report a signal as 128 plus its number. */
const codes: Readonly<Record<string, HelperBound>> = { 152: 'processor time', 153: 'file size', 137: 'memory' }
const patterns: readonly (readonly [RegExp, HelperBound])[] = [
  // Git's messages about the programs that it starts.
  [/died of signal 24/, 'processor time'],
  [/died of signal 25/, 'file size'],
  [/died of signal 9\b/, 'memory'],
  [/out of memory|cannot allocate memory|ENOMEM|bad_alloc/i, 'memory'],
  [/file too large|EFBIG/i, 'file size'],
  [/resource temporarily unavailable|unable to create (async )?thread|ERR_WORKER_INIT_FAILED/i, 'processes'],
]

/**
 * Returns the bound that ended a program which its caller did not end, if its exit or its error output shows it.
 * @param end exit code or name of a signal
 * @param message the program's error output
 */
export function boundOf(end: number | string | null, message: string): HelperBound | undefined {
  if (end === 0 || end === null) return undefined
  const known = typeof end === 'number' ? codes[end] : signals[end]
  return known ?? patterns.find(([pattern]) => pattern.test(message))?.[1]
}

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { boundOf, type HelperBound, type HelperBounds } from '@berth/sandboxes/helper-bounds.ts'
import type { RemoteAccess } from './remote-access.ts'
import { type GitEnd, type GitProcess, type GitView, startConfinedGit, startGit } from './start-git.ts'

/** Options of one git command. */
export interface GitOptions {
  /** The bare repository; undefined for commands that need none. */
  readonly gitDir?: string
  /** The one remote that the command may reach, and the credential for it. Without it git reaches nothing. */
  readonly remote?: RemoteAccess
  /** The only files of the service that git sees; git then runs confined, and can have no remote. */
  readonly view?: GitView
  /** A stream is destroyed, however git ends. */
  readonly input?: string | Uint8Array | Readable
  /** Variables beside the fixed ones, such as `GIT_INDEX_FILE`, author and committer. */
  readonly env?: Readonly<Record<string, string>>
  /** Exit codes that are answers; 0 alone by default. */
  readonly exits?: readonly number[]
  readonly timeoutMs?: number
  readonly maxOutputBytes?: number
  /** Cuts output at its bound and ends git, instead of a failure. */
  readonly cutsOutput?: boolean
  /** Takes the output piece by piece, without a bound; none is in the result. Git is ended once it returns true. */
  readonly take?: (piece: Buffer) => boolean
  /** Bounds of each process of git; the default ones are far above the needs of most commands. */
  readonly bounds?: HelperBounds
  readonly signal?: AbortSignal
  /** Gets each line of the progress of a command that is not confined. */
  readonly progress?: (line: string) => void
}

export interface GitResult {
  readonly exitCode: number
  readonly stdout: Buffer
  readonly stderr: string
}

/** Git failed. The message carries git's own words, cut short; they never hold its credential. */
export class GitError extends Error {
  override readonly name = 'GitError'
  readonly exitCode: number | null
  readonly stderr: string
  readonly reason: 'exit' | 'signal' | 'bound'
  /** The service's bound that ended it. */
  readonly bound: HelperBound | 'time' | 'output' | undefined

  constructor(command: string, end: Pick<GitEnd, 'exitCode' | 'stderr'>, bound?: GitError['bound']) {
    const { exitCode, stderr } = end
    super(
      `git ${command} failed (${bound === undefined ? (exitCode ?? 'signal') : `over its bound of ${bound}`}): ${stderr.trim()}`,
    )
    this.reason = bound !== undefined ? 'bound' : exitCode === null ? 'signal' : 'exit'
    this.bound = bound
    this.exitCode = exitCode
    this.stderr = stderr
  }
}

const TIMEOUT_MS = 60_000
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024
const MIB = 1024 ** 2
const defaultBounds: HelperBounds = { memoryBytes: 512 * MIB, cpuSeconds: 60, fileBytes: 512 * MIB }

/**
 * Runs the service's own git, with the fixed environment of `gitEnvironment` and nothing of this process's. Memory,
 * processor time, time and output are bounded. At a bound, or at the signal, the whole process group is ended; no
 * process is ever left behind.
 *
 * It is for bare repositories that the service made or that an operator put there, never for the `.git` of a sandbox.
 * Commands that read agents' content get a `view`.
 * @throws GitError, or the signal's reason
 */
export async function runGit(args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
  const { signal, input, timeoutMs = TIMEOUT_MS, maxOutputBytes = MAX_OUTPUT_BYTES, exits = [0] } = options
  const command = args.find((arg, at) => !arg.startsWith('-') && args[at - 1] !== '-c') ?? ''
  const git = await start(args, options)
  git.ended.catch(() => undefined)
  const output: Buffer[] = []
  let size = 0
  let broken: 'time' | 'output' | undefined
  let hasEnough = false
  const stop = (bound: 'time' | 'output'): void => {
    broken ??= bound
    git.kill()
  }
  const timer = setTimeout(() => stop('time'), timeoutMs)
  signal?.addEventListener('abort', git.kill, { once: true })
  if (signal?.aborted) git.kill()
  git.stdout.on('data', (chunk: Buffer) => {
    if (options.take !== undefined) {
      hasEnough ||= options.take(chunk)
      if (hasEnough) git.kill()
      return
    }
    size += chunk.length
    if (size <= maxOutputBytes || options.cutsOutput === true) output.push(chunk)
    if (size > maxOutputBytes) stop('output')
  })
  try {
    if (git.stdin !== null) await feed(input ?? '', git.stdin)
    const end = await git.ended
    signal?.throwIfAborted()
    const { exitCode, stderr } = end
    if (hasEnough) return { exitCode: exits[0] ?? 0, stdout: Buffer.alloc(0), stderr }
    if (broken === 'output' && options.cutsOutput === true) {
      return { exitCode: exits[0] ?? 0, stdout: Buffer.concat(output).subarray(0, maxOutputBytes), stderr }
    }
    if (broken !== undefined) throw new GitError(command, end, broken)
    if (exitCode !== null && exits.includes(exitCode)) return { exitCode, stdout: Buffer.concat(output), stderr }
    throw new GitError(command, end, boundOf(exitCode ?? end.signal, stderr))
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', git.kill)
  }
}

async function start(args: readonly string[], options: GitOptions): Promise<GitProcess> {
  const { gitDir, view, env, remote, input, signal, progress, bounds = defaultBounds } = options
  const all = [...(gitDir === undefined ? [] : [`--git-dir=${gitDir}`]), ...args]
  try {
    signal?.throwIfAborted()
    if (view !== undefined) return await startConfinedGit(all, { view, env, bounds })
    return await startGit(all, { remote, env, bounds, hasInput: input !== undefined, progress })
  } catch (error) {
    if (input instanceof Readable) input.destroy()
    throw error
  }
}

/** Runs git and returns its output as text, without the last line's end. */
export async function gitText(args: readonly string[], options: GitOptions = {}): Promise<string> {
  const { stdout } = await runGit(args, options)
  return stdout.toString('utf8').replace(/\n$/, '')
}

/** Error codes at a pipe that git no longer reads. Node cancels a write that still waits when git ends. */
const closedByGit: ReadonlySet<unknown> = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'EPIPE', 'ECANCELED'])

/** Feeds git its input. If git ends before it has read everything, its exit tells of that, not the pipe. */
async function feed(input: string | Uint8Array | Readable, stdin: NodeJS.WritableStream): Promise<void> {
  if (typeof input === 'string' || input instanceof Uint8Array) {
    stdin.on('error', () => undefined)
    stdin.end(input)
    return
  }
  await pipeline(input, stdin).catch(error => {
    if (input.errored && !closedByGit.has(error.code)) throw error
  })
}

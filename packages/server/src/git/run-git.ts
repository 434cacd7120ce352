import { spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { gitEnvironment } from './git-environment.ts'
import type { RemoteAccess } from './remote-access.ts'

/** How git is to be run. */
export interface GitOptions {
  /** The bare repository; undefined for commands that need none. */
  readonly gitDir?: string
  /** The one remote that the command may reach, and the credential for it. Without it git reaches nothing. */
  readonly remote?: RemoteAccess
  /** A stream is destroyed, whatever becomes of git. */
  readonly input?: string | Uint8Array | Readable
  /** Variables beside the fixed ones, such as `GIT_INDEX_FILE`, author and committer. */
  readonly env?: Readonly<Record<string, string>>
  /** Exit codes that are answers; 0 alone unless said. */
  readonly exits?: readonly number[]
  readonly timeoutMs?: number
  readonly maxOutputBytes?: number
  /** Output over its bound is cut there, and git ended, instead of a failure. */
  readonly cutsOutput?: boolean
  readonly signal?: AbortSignal
}

export interface GitResult {
  readonly exitCode: number
  readonly stdout: Buffer
  readonly stderr: string
}

/** Git failed. The message carries what it said, cut, without its credential, which git never says. */
export class GitError extends Error {
  override readonly name = 'GitError'
  readonly exitCode: number | null
  readonly stderr: string
  /** `timeout` and `output` are bounds of ours. */
  readonly reason: 'exit' | 'signal' | 'timeout' | 'output'

  constructor(command: string, reason: GitError['reason'], exitCode: number | null, stderr: string) {
    super(`git ${command} failed (${reason === 'exit' ? exitCode : reason}): ${stderr.trim()}`)
    this.reason = reason
    this.exitCode = exitCode
    this.stderr = stderr
  }
}

const TIMEOUT_MS = 60_000
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024
const MAX_SAID = 4096

/**
 * Runs the service's own git: with the fixed environment of `gitEnvironment` and nothing of this process's, bounded in
 * time and output, its whole process group ended at a bound, at the signal, and never left behind.
 *
 * It is for bare repositories that the service made or that an operator put there, never for the `.git` of a sandbox.
 * @throws GitError, or the signal's reason
 */
export async function runGit(args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
  const { signal, timeoutMs = TIMEOUT_MS, maxOutputBytes = MAX_OUTPUT_BYTES, exits = [0] } = options
  if (signal?.aborted) {
    if (options.input instanceof Readable) options.input.destroy()
    throw signal.reason
  }
  const command = args.find(arg => !arg.startsWith('-')) ?? ''
  const child = spawn('git', [...(options.gitDir === undefined ? [] : [`--git-dir=${options.gitDir}`]), ...args], {
    cwd: '/',
    env: gitEnvironment(options.remote, options.env),
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    detached: true,
  })
  const { promise, resolve, reject } = Promise.withResolvers<GitResult>()
  const output: Buffer[] = []
  let size = 0
  let stderr = ''
  let broken: 'timeout' | 'output' | null = null
  const end = (): void => {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended already.
    }
  }
  const stop = (reason: 'timeout' | 'output'): void => {
    broken ??= reason
    end()
  }
  const timer = setTimeout(() => stop('timeout'), timeoutMs)
  signal?.addEventListener('abort', end, { once: true })
  child.stdout?.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= maxOutputBytes || options.cutsOutput === true) output.push(chunk)
    if (size > maxOutputBytes) stop('output')
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < MAX_SAID) stderr = (stderr + text).slice(0, MAX_SAID)
  })
  child.on('error', reject)
  child.on('close', (exitCode, killedBy) => {
    if (signal?.aborted) reject(signal.reason)
    else if (broken === 'output' && options.cutsOutput === true) {
      resolve({ exitCode: exits[0] ?? 0, stdout: Buffer.concat(output).subarray(0, maxOutputBytes), stderr })
    } else if (broken !== null) reject(new GitError(command, broken, exitCode, stderr))
    else if (killedBy !== null || exitCode === null) reject(new GitError(command, 'signal', exitCode, stderr))
    else if (!exits.includes(exitCode)) reject(new GitError(command, 'exit', exitCode, stderr))
    else resolve({ exitCode, stdout: Buffer.concat(output), stderr })
  })
  promise.catch(() => undefined)
  try {
    if (child.stdin !== null && options.input !== undefined) await feed(options.input, child.stdin)
    return await promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
  }
}

/** What git answers as text, without the last line's end. */
export async function gitText(args: readonly string[], options: GitOptions = {}): Promise<string> {
  const { stdout } = await runGit(args, options)
  return stdout.toString('utf8').replace(/\n$/, '')
}

/** A git that ends before it has read everything is told of by its exit, not by the pipe. */
async function feed(input: string | Uint8Array | Readable, stdin: NodeJS.WritableStream): Promise<void> {
  if (typeof input === 'string' || input instanceof Uint8Array) {
    stdin.on('error', () => undefined)
    stdin.end(input)
    return
  }
  await pipeline(input, stdin).catch(error => {
    const closedByGit = error.code === 'ERR_STREAM_PREMATURE_CLOSE' || error.code === 'EPIPE'
    if (input.errored && !closedByGit) throw error
  })
}

import { spawn } from 'node:child_process'

/** A program's result. */
export interface ProgramResult {
  readonly exitCode: number
  /** stdout and stderr together, cut at `maxBytes`. */
  readonly output: Buffer
  readonly truncated: boolean
  /** It was killed because it took too long. */
  readonly timedOut: boolean
}

/**
 * Runs a program in its own process group; the whole group is killed on cancellation, timeout or too much output.
 * @throws Error if it cannot be started, or the signal's reason
 */
export async function runProgram(
  command: readonly [string, ...string[]],
  options: {
    cwd: string
    signal: AbortSignal | undefined
    timeoutMs: number
    maxBytes: number
    environment?: NodeJS.ProcessEnv
    input?: Buffer
  },
): Promise<ProgramResult> {
  const { cwd, signal, timeoutMs, maxBytes, environment = process.env, input } = options
  signal?.throwIfAborted()
  const [program, ...args] = command
  const child = spawn(program, args, { cwd, env: environment, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  // A program that ends before it reads its input says so by its exit code.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const chunks: Buffer[] = []
  let bytes = 0
  let ended: 'timeout' | 'full' | null = null
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // Gone already.
    }
  }
  const take = (chunk: Buffer) => {
    if (bytes < maxBytes) chunks.push(chunk.subarray(0, maxBytes - bytes))
    bytes += chunk.length
    if (bytes <= maxBytes) return
    ended ??= 'full'
    kill()
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const timer = setTimeout(() => {
    ended ??= 'timeout'
    kill()
  }, timeoutMs)
  signal?.addEventListener('abort', kill, { once: true })
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', code => resolve(code ?? 1))
    })
    signal?.throwIfAborted()
    return { exitCode, output: Buffer.concat(chunks), truncated: ended === 'full', timedOut: ended === 'timeout' }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', kill)
  }
}

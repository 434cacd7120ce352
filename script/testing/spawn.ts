import { type ChildProcessByStdio, type SpawnOptions, type StdioOptions, spawn as spawnPlain } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { markVariable } from '../gate/marked-processes.ts'

type Stdio = StdioOptions | readonly Exclude<StdioOptions, string>[number][]
type Piped<S, N extends 0 | 1 | 2, T> = S extends readonly unknown[]
  ? S[N] extends 'pipe' | null | undefined
    ? T
    : null
  : S extends 'ignore' | 'inherit'
    ? null
    : T

/** A process that a test has started. Disposing of it kills it and waits for its end. */
export type Child<S extends Stdio = 'pipe'> = ChildProcessByStdio<
  Piped<S, 0, Writable>,
  Piped<S, 1, Readable>,
  Piped<S, 2, Readable>
> &
  AsyncDisposable

const running = new Set<AsyncDisposable>()

/**
 * Starts a process for a test, as Node's `spawn` does. It dies with this process, however that ends, carries the mark of the run,
 * and `endChildren` ends it.
 */
export function spawn<const S extends Stdio = 'pipe'>(
  file: string,
  args: readonly string[] = [],
  { stdio, env, ...options }: Omit<SpawnOptions, 'stdio'> & { readonly stdio?: S } = {},
): Child<S> {
  const mark = process.env[markVariable]
  // By its path: the variables of the process may name other directories.
  const child = spawnPlain('/usr/bin/setpriv', ['--pdeathsig', 'KILL', '--', file, ...args], {
    ...options,
    ...(stdio !== undefined && { stdio: stdio as StdioOptions }),
    ...(env !== undefined && { env: { ...(mark !== undefined && { [markVariable]: mark }), ...env } }),
  })
  const own = Object.assign(child, {
    async [Symbol.asyncDispose]() {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
      const exit = once(child, 'exit')
      if (options.detached === true) process.kill(-child.pid, 'SIGKILL')
      else child.kill('SIGKILL')
      await exit
    },
  })
  running.add(own)
  child.once('exit', () => running.delete(own))
  return own as unknown as Child<S>
}

/** Ends the processes that `spawn` has started and that have not ended. */
export async function endChildren(): Promise<void> {
  await Promise.all([...running].map(child => child[Symbol.asyncDispose]()))
}

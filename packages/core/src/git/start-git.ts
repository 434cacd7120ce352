import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { confine } from '@berth/sandboxes/confined/confined.ts'
import { helperCommand } from '@berth/sandboxes/confined/helper-group.ts'
import type { HelperBounds } from '@berth/sandboxes/helper-bounds.ts'
import { gitEnvironment } from './git-environment.ts'
import type { RemoteAccess } from './remote-access.ts'

/** The paths that a confined git sees beside the host's programs; each path is the same inside. */
export interface GitView {
  /** The user it runs as; undefined for this process's own. */
  readonly uid?: number
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  /** Name or path of the bubblewrap program. */
  readonly bwrap?: string
}

/** How a git ended. */
export interface GitEnd {
  readonly exitCode: number | null
  readonly signal: string | null
  /** The beginning of its error output. */
  readonly stderr: string
}

/** A running git. */
export interface GitProcess {
  readonly stdin: Writable | null
  readonly stdout: Readable
  readonly ended: Promise<GitEnd>
  /** Kills it and every process that it started. */
  kill(): void
}

const MAX_MESSAGE = 4096
/** Matches a line of git's progress, also of the other end; a carriage return ends most of them. */
const isProgress = /^(remote: )?[A-Z][a-z]+ [a-z]+: +\d/

/** Starts git unconfined, within its bounds, in a process group of its own. */
export async function startGit(
  args: readonly string[],
  options: {
    readonly remote: RemoteAccess | undefined
    readonly env: Readonly<Record<string, string>> | undefined
    readonly bounds: HelperBounds
    readonly hasInput: boolean
    /** Gets the lines of progress, which are no part of the error output then. */
    readonly progress?: ((line: string) => void) | undefined
  },
): Promise<GitProcess> {
  const [shell = '', ...bounding] = await helperCommand(options.bounds)
  const child = spawn(shell, [...bounding, 'git', ...args], {
    cwd: '/',
    env: gitEnvironment(options.remote, options.env),
    stdio: [options.hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new Error('no pipes to git')
  return { stdin: child.stdin, stdout, ended: endOf(child, stderr, options.progress), kill: () => killGroup(child) }
}

/**
 * Starts git in namespaces of its own, where it sees only the paths of `view` and has no network and no capability. It
 * is for content that agents wrote: if that makes git misbehave, only the view is affected.
 */
export async function startConfinedGit(
  args: readonly string[],
  options: {
    readonly view: GitView
    readonly env: Readonly<Record<string, string>> | undefined
    readonly bounds: HelperBounds
  },
): Promise<GitProcess> {
  const { uid, bwrap, reads, writes } = options.view
  const program = await confine({
    ...(bwrap !== undefined && { bwrap }),
    ...(uid !== undefined && { uid }),
    readsAll: false,
    bounds: options.bounds,
    environment: gitEnvironment(undefined, options.env),
    directories: [...reads, ...writes],
    mounts: [...reads.flatMap(path => ['--ro-bind', path, path]), ...writes.flatMap(path => ['--bind', path, path])],
    command: ['git', ...args],
  })
  return {
    stdin: program.input,
    stdout: program.output,
    ended: program.ended.then(parseEnd),
    kill: () => program.kill(),
  }
}

/** Splits a confined program's report into its exit code or signal and its error output. */
function parseEnd(outcome: string): GitEnd {
  const [end = '', ...rest] = outcome.split(' ')
  const code = /^\d+$/.test(end) ? Number(end) : null
  return { exitCode: code, signal: code === null ? end : null, stderr: rest.join(' ') }
}

function endOf(child: ChildProcess, errors: Readable, progress?: (line: string) => void): Promise<GitEnd> {
  const { promise, resolve, reject } = Promise.withResolvers<GitEnd>()
  let stderr = ''
  const keep = (text: string) => {
    if (stderr.length < MAX_MESSAGE) stderr = (stderr + text).slice(0, MAX_MESSAGE)
  }
  if (progress === undefined) errors.setEncoding('utf8').on('data', keep)
  else
    createInterface({ input: errors }).on('line', line => (isProgress.test(line) ? progress(line) : keep(`${line}\n`)))
  child.on('error', reject)
  child.on('close', (exitCode, signal) => resolve({ exitCode, signal, stderr }))
  return promise
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

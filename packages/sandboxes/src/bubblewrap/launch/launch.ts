import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { knownSecrets } from '@berth/platform/kit/redactor.ts'
import { hostNames, type LeaseFiles } from '../../leases/lease-files.ts'
import { markArguments } from '../processes/marked-processes.ts'

/**
 * The descriptor from which bubblewrap reads its arguments. Below it are the standard streams, the listener and the
 * journal; above it is the milestone.
 */
const ARGUMENTS_FD = 5
/** The descriptor of the system-call filter. */
const FILTER_FD = 7
/** The descriptor of the user namespace. The supervisor's Node does not pass it on to agents. */
const USER_NAMESPACE_FD = 8

/** The unit of the shell's `ulimit -f`. */
const BLOCK_BYTES = 512

/** Settings that all launches of one service share. */
export interface Launcher {
  readonly bwrapPath: string
  /** The system-call filter, a finished file. */
  readonly filterPath: string
  /**
   * The user namespace that the sandbox enters once its mounts exist. Undefined if it stays in the one it was made in.
   */
  readonly userNamespacePath: string | undefined
  /** Marks the service's processes. */
  readonly tag: string
}

/** A sandbox to start. */
export interface Launch {
  readonly files: LeaseFiles
  /** Of bubblewrap, without those that every launch has. */
  readonly options: readonly string[]
  /** What runs inside, with the programs that set limits and drop privileges. */
  readonly command: readonly string[]
  readonly fileSizeBytes: number
}

/** The sandbox could not be started. The message holds bubblewrap's output. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError'
}

/**
 * Turns a waiting shell into a sandbox. It returns once every mount and bound exists. Only the drop of
 * privileges and the command remain; if they fail, the sandbox is gone. From then on nothing ties the sandbox to this
 * process. Arguments and script are finished files before the shell learns of them: a stream cut off by this process's
 * death would run a shorter, less isolated command line.
 * @param socket the shell's
 */
export async function launch(socket: Socket, sandbox: Launch, launcher: Launcher): Promise<void> {
  const { bwrapPath, filterPath, userNamespacePath, tag } = launcher
  const { host, leaseId } = sandbox.files
  const enter = userNamespacePath === undefined ? [] : ['--userns2', String(USER_NAMESPACE_FD)]
  const options = ['--args', String(ARGUMENTS_FD), '--seccomp', String(FILTER_FD), ...enter]
  const opened = [
    `${ARGUMENTS_FD}< ./${hostNames.arguments}`,
    `${FILTER_FD}< ${quoted(filterPath)}`,
    ...(userNamespacePath === undefined ? [] : [`${USER_NAMESPACE_FD}< ${quoted(userNamespacePath)}`]),
  ]
  const bwrap = [bwrapPath, ...options, ...markArguments(tag, leaseId), '--', ...sandbox.command]
  const blocks = Math.max(1, Math.floor(sandbox.fileSizeBytes / BLOCK_BYTES))
  const script = [
    `exec ${opened.join(' ')} || exit 99`,
    `cd / && ulimit -f ${blocks} || exit 98`,
    `exec ${bwrap.map(quoted).join(' ')}`,
  ]
  writeOptions(host, sandbox.options)
  writeFileSync(join(host, hostNames.script), `${script.join('\n')}\n`, { mode: 0o600 })
  if (!(await reachesMilestone(socket))) throw new LaunchError(`the sandbox did not start: ${logOf(host)}`)
}

/**
 * Writes bubblewrap's options for a launch, atomically: another process may read them for the next one, and the beginning of them
 * would make a less isolated sandbox.
 */
export function writeOptions(host: string, options: readonly string[]): void {
  const path = join(host, hostNames.arguments)
  writeFileSync(`${path}.new`, options.join('\0'), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** Quotes a word for a POSIX shell, whatever it contains. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}

/**
 * Sends the line that the shell waits for and one byte for bubblewrap. Returns whether bubblewrap got far enough to
 * read it. The kernel tells the two apart: closing a unix socket with an unread byte resets the peer, closing an
 * emptied one ends it cleanly.
 */
async function reachesMilestone(socket: Socket): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  socket.once('end', () => resolve(true))
  socket.once('error', () => resolve(false))
  socket.once('close', () => resolve(false))
  socket.ref().resume().end('go\n.')
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}

function logOf(host: string): string {
  const text = readFileSync(join(host, hostNames.log), 'utf8').trim()
  return text === '' ? 'it printed nothing' : knownSecrets.text(text).slice(-2000)
}

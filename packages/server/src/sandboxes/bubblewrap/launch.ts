import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type Server, Socket } from 'node:net'
import { join } from 'node:path'
import { withShortPath } from '../socket-directory.ts'
import { insideCommand, MILESTONE_FD, type Plan, sandboxOptions } from './arguments.ts'
import type { LaunchShell } from './launch-shell.ts'
import { hostNames } from './lease-files.ts'
import { markArguments } from './marked-processes.ts'

/**
 * Joins the cgroups and sets the limits that must hold from the first instruction on, then becomes bubblewrap. A group
 * that is gone means that the lease is being destroyed: then nothing starts.
 */
const JOIN =
  'blocks=$1; shift; while [ "$1" != -- ]; do echo 0 > "$1" || exit 97; shift; done; shift; ' +
  'ulimit -c 0; ulimit -f "$blocks" || exit 98; echo 300 > /proc/self/oom_score_adj; exec "$@"'

/** Where the arguments and the milestone travel; below them lie standard streams, listener and journal. */
const ARGUMENTS_FD = 5

/** The unit of the shell's `ulimit -f`. */
const BLOCK_BYTES = 512

/** The sandbox could not be started; the message holds what bubblewrap said. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError'
}

/**
 * Starts a planned sandbox and returns once every mount and bound stands; what is left is the drop of privileges and the
 * command, whose failure shows as a sandbox that is gone. Nothing ties the sandbox to this process.
 */
export async function launch(
  plan: Plan,
  means: { readonly shell: LaunchShell; readonly bwrapPath: string; readonly tag: string },
  joinFiles: readonly string[],
): Promise<void> {
  const { shell } = means
  const { host, leaseId } = plan.files
  const opened: number[] = []
  const open = (name: string, flags: number) => {
    const fd = openSync(join(host, name), flags, 0o600)
    opened.push(fd)
    return fd
  }
  const { O_RDWR, O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_EXCL } = constants
  // A finished file: a pipe cut short by this process's death would run a shorter, less isolated command line.
  writeFileSync(join(host, hostNames.arguments), sandboxOptions(plan).join('\0'), { mode: 0o600 })
  try {
    const args = open(hostNames.arguments, O_RDONLY)
    const journal = open(hostNames.journal, O_RDWR | O_APPEND | O_CREAT | O_EXCL)
    const log = open(hostNames.log, O_WRONLY | O_APPEND | O_CREAT)
    await withListener(host, async listener => {
      const blocks = Math.max(1, Math.floor(plan.spec.bounds.fileSizeBytes / BLOCK_BYTES))
      const script = [...shell.options, '-c', shell.closing + JOIN, 'berth-sandbox', String(blocks), ...joinFiles, '--']
      const bwrap = [
        means.bwrapPath,
        '--args',
        String(ARGUMENTS_FD),
        ...markArguments(means.tag, leaseId),
        '--',
        ...insideCommand(plan),
      ]
      const child = spawn(shell.path, [...script, ...bwrap], {
        detached: true,
        env: {},
        cwd: '/',
        stdio: ['ignore', log, log, listener, journal, args, 'pipe'],
      })
      child.unref()
      const socket: unknown = Reflect.get(child.stdio, MILESTONE_FD)
      if (!(socket instanceof Socket)) throw new Error('no socket for the milestone')
      if (!(await reachesMilestone(child, socket))) throw new LaunchError(`the sandbox did not start: ${said(host)}`)
    })
  } finally {
    for (const fd of opened) closeSync(fd)
  }
}

/**
 * Whether bubblewrap got as far as reading the milestone's socket. The kernel tells it from a death before that: closing
 * a unix socket with a byte unread resets the peer, closing an emptied one ends it cleanly.
 */
async function reachesMilestone(child: ChildProcess, socket: Socket): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  child.once('error', reject)
  socket.once('end', () => resolve(true))
  socket.once('error', () => resolve(false))
  socket.once('close', () => resolve(false))
  socket.resume().end('.')
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}

function said(host: string): string {
  const text = readFileSync(join(host, hostNames.log), 'utf8').trim()
  return text === '' ? 'it said nothing' : text.slice(-2000)
}

/**
 * Listens in the lease's host directory for the time of `use`, which hands the listening descriptor on. The socket gets
 * its name by a rename: closing a server unlinks the name it was made under.
 */
async function withListener(host: string, use: (descriptor: number) => Promise<void>): Promise<void> {
  await withShortPath(host, async short => {
    const server = createServer(socket => socket.destroy())
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    server.once('error', reject)
    server.listen({ path: short('s.new') }, resolve)
    await promise
    try {
      renameSync(join(host, 's.new'), join(host, hostNames.socket))
      await use(descriptorOf(server))
    } finally {
      const closed = Promise.withResolvers<void>()
      server.close(() => closed.resolve())
      await closed.promise
    }
  })
}

/** Node has no public way to the descriptor of a unix listener. */
function descriptorOf(server: Server): number {
  const handle: unknown = Reflect.get(server, '_handle')
  const descriptor: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined
  if (typeof descriptor !== 'number' || descriptor < 0) throw new Error('this Node gives no descriptor of a listener')
  return descriptor
}

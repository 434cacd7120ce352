import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, renameSync } from 'node:fs'
import { createServer, type Server, Socket } from 'node:net'
import { join } from 'node:path'
import { withShortPath } from '../../egress/socket-directory.ts'
import { hostNames } from '../files/lease-files.ts'
import { MILESTONE_FD } from './arguments.ts'
import type { LaunchShell } from './launch-shell.ts'

/**
 * The waiting shell's script. It joins the cgroups, reports that, and waits for a line on its socket; then it runs the
 * launch script beside the socket. It reads no byte past the line, which leaves the next for bubblewrap. Its working
 * directory follows the rename of its lease.
 */
const WAIT =
  'ulimit -c 0; for file; do echo 0 > "$file" || exit 97; done; echo 300 > /proc/self/oom_score_adj; ' +
  `printf j >&${MILESTONE_FD}; read -r go <&${MILESTONE_FD} || exit 0; . ./${hostNames.script}`

/**
 * Starts a shell with the descriptors for the sandbox's first command: the listening socket as 3, the journal as 4.
 * Both files lie in `host`, which no sandbox sees.
 */
export async function startWaitingShell(
  host: string,
  shell: LaunchShell,
  joinFiles: readonly string[],
): Promise<{ readonly shell: ChildProcess; readonly socket: Socket }> {
  const { O_RDWR, O_WRONLY, O_APPEND, O_CREAT, O_EXCL } = constants
  const journal = openSync(join(host, hostNames.journal), O_RDWR | O_CREAT | O_EXCL, 0o600)
  const log = openSync(join(host, hostNames.log), O_WRONLY | O_APPEND | O_CREAT | O_EXCL, 0o600)
  try {
    return await withListener(host, async listener => {
      const words = [...shell.options, '-c', shell.closing + WAIT, 'berth-blank', ...joinFiles]
      const child = spawn(shell.path, words, {
        detached: true,
        env: {},
        cwd: host,
        stdio: ['ignore', log, log, listener, journal, 'ignore', 'pipe'],
      })
      const socket: unknown = Reflect.get(child.stdio, MILESTONE_FD)
      if (!(socket instanceof Socket)) throw new Error('the shell that waits for a lease did not start')
      await joined(child, socket)
      // A waiting blank must not keep the process alive.
      child.unref()
      socket.unref()
      return { shell: child, socket }
    })
  } finally {
    closeSync(journal)
    closeSync(log)
  }
}

async function joined(child: ChildProcess, socket: Socket): Promise<void> {
  socket.on('error', () => undefined)
  const news = await Promise.race([
    once(socket, 'data').then(() => 'joined'),
    once(socket, 'close').then(() => 'ended'),
    once(child, 'error').then(([error]) => error as Error),
  ])
  if (news === 'joined') return
  throw new Error('the shell that waits for a lease could not join its cgroups', { cause: news })
}

/**
 * Listens in a lease's host directory while `use` passes the descriptor on. The socket gets its final name by a rename,
 * because closing a server unlinks the name it was created under.
 */
async function withListener<T>(host: string, use: (descriptor: number) => Promise<T>): Promise<T> {
  return withShortPath(host, async short => {
    const server = createServer(socket => socket.destroy())
    server.listen({ path: short('s.new') })
    await once(server, 'listening')
    try {
      renameSync(join(host, 's.new'), join(host, hostNames.socket))
      return await use(descriptorOf(server))
    } finally {
      server.close()
      await once(server, 'close')
    }
  })
}

/** Node has no public API for the descriptor of a unix listener. */
function descriptorOf(server: Server): number {
  const handle: unknown = Reflect.get(server, '_handle')
  const descriptor: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined
  if (typeof descriptor !== 'number' || descriptor < 0)
    throw new Error('this version of Node does not expose the descriptor of a listener')
  return descriptor
}

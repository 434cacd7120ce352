import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { hostNames } from '../../leases/lease-files.ts'
import { withListener } from '../../leases/listener.ts'
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
 * Both files lie in `host`, which no sandbox sees. A journal that is there goes on.
 */
export async function startWaitingShell(
  host: string,
  shell: LaunchShell,
  joinFiles: readonly string[],
): Promise<{ readonly shell: ChildProcess; readonly socket: Socket }> {
  const { O_RDWR, O_WRONLY, O_APPEND, O_CREAT } = constants
  const journal = openSync(join(host, hostNames.journal), O_RDWR | O_CREAT, 0o600)
  const log = openSync(join(host, hostNames.log), O_WRONLY | O_APPEND | O_CREAT, 0o600)
  try {
    return await withListener(host, async listener => {
      const args = [...shell.options, '-c', shell.closing + WAIT, 'berth-blank', ...joinFiles]
      const child = spawn(shell.path, args, {
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

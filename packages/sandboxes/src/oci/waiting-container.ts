import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { knownSecrets } from '@berth/platform/kit/redactor.ts'
import { writeContainerRecord } from '../leases/container-record.ts'
import { hostNames } from '../leases/lease-files.ts'
import { withListener } from '../leases/listener.ts'
import { systemPath } from '../linux/run-program.ts'
import { type ContainerPlan, containerArguments } from './container-arguments.ts'
import type { Engine } from './engine.ts'

const MAX_ERRORS = 4096

/** The container could not be started. The message holds what podman said. */
export class ContainerError extends Error {
  override readonly name = 'ContainerError'
}

/**
 * Starts a container that waits for its command, with the listening socket as descriptor 3 and the journal as 4. Both
 * files lie in the lease's directory, in a part that no sandbox sees. Podman hands them on through its monitor.
 * @returns the socket that takes the command
 */
export async function startWaitingContainer(engine: Engine, plan: ContainerPlan): Promise<Socket> {
  const { host } = plan.files
  const { O_RDWR, O_CREAT, O_EXCL } = constants
  const journal = openSync(join(host, hostNames.journal), O_RDWR | O_CREAT | O_EXCL, 0o600)
  try {
    return await withListener(host, async listener => {
      const child = spawn(engine.path, [...engine.options, ...containerArguments(plan)], {
        detached: true,
        env: { PATH: systemPath, LC_ALL: 'C' },
        cwd: '/',
        stdio: ['ignore', 'ignore', 'pipe', listener, journal, 'pipe'],
      })
      const socket: unknown = Reflect.get(child.stdio, 5)
      if (!(socket instanceof Socket) || child.stderr === null) throw new ContainerError('podman did not start')
      socket.on('error', () => undefined)
      // A waiting container must not keep the process alive.
      socket.unref()
      try {
        const [[code], errors] = await Promise.all([once(child, 'exit'), text(child.stderr)])
        if (code !== 0) throw new ContainerError(`the container did not start: ${shortened(errors)}`)
        await writeContainerRecord(plan.files, plan.name, Number(readFileSync(plan.pidFile, 'utf8')))
        return socket
      } catch (error) {
        socket.destroy()
        throw error
      }
    })
  } finally {
    closeSync(journal)
  }
}

function shortened(errors: string): string {
  const trimmed = errors.trim()
  return trimmed === '' ? 'podman printed nothing' : knownSecrets.text(trimmed).slice(-MAX_ERRORS)
}

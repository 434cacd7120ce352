import { connect, type Socket } from 'node:net'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import { SandboxGoneError } from '../driver.ts'
import { withShortPath } from '../egress/socket-directory.ts'
import { hostNames, type LeaseFiles } from './lease-files.ts'

/**
 * Connects to a lease's socket. Only the sandbox's own supervisor ever holds the listening end, so a refusal proves
 * that it is dead. So does a reset: it follows if the supervisor dies between connect and accept.
 * @throws SandboxGoneError
 */
export async function attachToSupervisor(files: LeaseFiles, signal?: AbortSignal): Promise<Socket> {
  signal?.throwIfAborted()
  try {
    return await withShortPath(files.host, async short => {
      const socket = connect({ path: short(hostNames.socket), allowHalfOpen: true })
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const abort = () => reject(signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      // The socket may break before the caller has it; the caller then sees a closed stream, not an uncaught error.
      socket.on('error', () => undefined)
      socket.once('connect', resolve)
      socket.once('error', reject)
      try {
        await promise
        return socket
      } catch (error) {
        socket.destroy()
        throw error
      } finally {
        signal?.removeEventListener('abort', abort)
        socket.off('connect', resolve)
        socket.off('error', reject)
      }
    })
  } catch (error) {
    if (['ECONNREFUSED', 'ECONNRESET', 'ENOENT'].includes(errorCode(error) ?? '')) {
      throw new SandboxGoneError(`the supervisor of sandbox ${files.leaseId} is dead`, { cause: error })
    }
    throw error
  }
}

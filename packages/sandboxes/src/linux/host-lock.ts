import { once } from 'node:events'
import { createServer } from 'node:net'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import { waitUntil } from './wait-until.ts'

const PATIENCE_MS = 20_000

/**
 * Does work of a name in one process of this host at a time. The kernel gives the name, a socket's outside of the file system, to
 * one process, and takes it back when that dies.
 * @param name at most 100 bytes
 * @throws Error if another process keeps it for long
 */
export async function withHostLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  const server = createServer(socket => socket.destroy())
  const listen = async () => {
    server.listen({ path: `\0${name}` })
    try {
      await once(server, 'listening')
      return true
    } catch (error) {
      if (errorCode(error) === 'EADDRINUSE') return false
      throw error
    }
  }
  if (!(await waitUntil(listen, PATIENCE_MS))) throw new Error(`another process of this host holds ${name}`)
  try {
    return await work()
  } finally {
    server.close()
    await once(server, 'close')
  }
}

import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { withShortPath } from '../egress/socket-directory.ts'
import { hostNames } from './lease-files.ts'

/**
 * Listens in a lease's host directory while `use` passes the descriptor on. The socket gets its final name by a rename,
 * because closing a server unlinks the name it was created under.
 */
export async function withListener<T>(host: string, use: (descriptor: number) => Promise<T>): Promise<T> {
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

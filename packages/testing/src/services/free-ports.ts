import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'

/** Below those that the kernel gives to connections and to servers that name none, also while nobody listens. */
const [LOWEST, END] = [10_000, 32_768]

/** Ports of loopback that a process may take again and again; nobody else takes them meanwhile, as far as one can know. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const held: Server[] = []
  while (held.length < count) {
    const server = createServer().listen(randomInt(LOWEST, END), '127.0.0.1')
    await once(server, 'listening').catch(() => undefined)
    if (server.listening) held.push(server)
  }
  const ports = held.map(server => (server.address() as AddressInfo).port)
  await Promise.all(held.map(server => once(server.close(), 'close')))
  return ports
}

import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { listeningPorts, portsIn } from './listening-ports.ts'

const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 20 1 0 100 0 0 10 0
   1: 0100007F:0BB8 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 21 1 0 20 4 30 10 -1
   2: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 22 1 0 100 0 0 10 0
`

test('only listening sockets count', () => {
  expect(portsIn(table)).toEqual([3000, 8080])
  expect(portsIn('')).toEqual([])
})

test('a port shows up once, and the own one never', async () => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '::', resolve))
  const { port } = server.address() as { port: number }
  expect(listeningPorts(0).filter(found => found === port)).toEqual([port])
  expect(listeningPorts(port)).not.toContain(port)
  await new Promise(resolve => server.close(resolve))
  expect(listeningPorts(0)).not.toContain(port)
})

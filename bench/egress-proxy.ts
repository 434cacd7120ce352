// Measures what it costs that the proxy ends TLS for hosts that secrets name: a request through a connection that it reads,
// beside one through a tunnel that nobody reads, and the bytes of a body a second through both: from a host that sends at the pace
// of a gigabit line, and from one that sends as fast as this process, in which client, proxy and host share a core, can carry.
// Reading and not reading take turns within a run.
// Run as: node bench/egress-proxy.ts [rounds] [requests] [MiB]
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { OneConnection } from '../packages/sandboxes/src/egress/edge/one-connection.ts'
import { authorities, EdgeStage, secret } from '../packages/sandboxes/src/testing/edge-clients.ts'
import { median } from './support/statistics.ts'

const [rounds = 5, requests = 400, mebibytes = 64] = process.argv.slice(2).map(Number)
const read = 'api.example.com'
const unread = 'tunnel.example.com'

await using stage = await EdgeStage.open()
/** Of a gigabit line, a second. */
const LINE_MIB = 119
const body = Buffer.alloc(1024 * 1024, 'x')
for (const host of [read, unread]) {
  await stage.host(host, async (incoming, response) => {
    if (incoming.url === '/') return void response.end('ok')
    const began = performance.now()
    for (let sent = 0; sent < mebibytes; sent += 1) {
      const early = began + (sent / LINE_MIB) * 1000 - performance.now()
      if (incoming.url === '/paced' && early > 1) await sleep(early)
      if (!response.write(body)) await once(response, 'drain')
    }
    response.end()
  })
}
await stage.serve([secret])

const { certificate: ca } = await authorities.hosts.trust()
const ways = {
  read: new OneConnection(await stage.secure(read)),
  unread: new OneConnection(await stage.secure(unread, { ca })),
}

async function ask(way: keyof typeof ways, path: string): Promise<number> {
  const headers = ['Host', way === 'read' ? read : unread, 'Authorization', `Bearer ${secret.placeholder}`]
  const began = performance.now()
  const outgoing = request({ agent: ways[way], path, headers }).end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  for await (const _ of response);
  return performance.now() - began
}

const print = (line: string) => process.stdout.write(`${line}\n`)
const added: number[] = []
const shares = { paced: [] as number[], body: [] as number[] }
for (const way of ['read', 'unread'] as const) for (let warm = 0; warm < 50; warm += 1) await ask(way, '/')
for (let round = 0; round < rounds; round += 1) {
  const taken = { read: [] as number[], unread: [] as number[] }
  for (let count = 0; count < requests; count += 1) {
    for (const way of ['read', 'unread'] as const) taken[way].push(await ask(way, '/'))
  }
  added.push(median(taken.read) - median(taken.unread))
  const speeds: string[] = []
  for (const path of ['paced', 'body'] as const) {
    const ms = { read: 0, unread: 0 }
    const order = ['read', 'unread'] as const
    for (const way of round % 2 === 0 ? order : order.toReversed()) ms[way] = await ask(way, `/${path}`)
    shares[path].push(ms.unread / ms.read)
    speeds.push(
      `${path} ${((mebibytes / ms.read) * 1000).toFixed(0)} of ${((mebibytes / ms.unread) * 1000).toFixed(0)} MiB/s`,
    )
  }
  const [one, other] = [median(taken.read), median(taken.unread)].map(ms => ms.toFixed(3))
  print(`round ${round + 1}: p50 ${one} ms read, ${other} ms unread; ${speeds.join(', ')}`)
}
print(`added to a request (p50): ${median(added).toFixed(3)} ms (bound 1)`)
print(`bytes a second, read to unread, at the pace of a line: ${median(shares.paced).toFixed(2)} (bound 0.8)`)
print(`bytes a second, read to unread, without a pace: ${median(shares.body).toFixed(2)}`)
for (const way of Object.values(ways)) way.destroy()

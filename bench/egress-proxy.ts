// Measures what it costs that the proxy ends TLS for hosts that secrets name: a request through a connection that it reads,
// beside one through a tunnel that nobody reads, and the bytes of a body a second through both: from a host that sends at the
// pace of a gigabit line, and from one that sends as fast as it can. Host and proxy are processes of their own, and this one is
// the client. Reading and not reading take turns within a round. Run as: node bench/egress-proxy.ts [rounds] [requests] [MiB]
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { OneConnection } from '../packages/sandboxes/src/egress/edge/one-connection.ts'
import { authorities, EdgeStage, secret } from '../packages/sandboxes/src/testing/edge-clients.ts'
import { ends, playEnd } from '../packages/sandboxes/src/testing/edge-ends.ts'
import { cpuMsOf, startProcess } from './support/processes.ts'
import { median } from './support/statistics.ts'

const [role = '', ...ports] = process.argv.slice(2)
if (role === 'hosts') await playEnd()
else if (role === 'proxy') await playEnd(ports.map(Number))
else await measure(...process.argv.slice(2).map(Number))

async function measure(rounds = 5, requests = 400, mebibytes = 64): Promise<void> {
  await using stage = await EdgeStage.open()
  await using far = await startProcess([import.meta.filename, 'hosts'])
  await using proxy = await startProcess([import.meta.filename, 'proxy', ...far.line.split(' ')])
  stage.path = proxy.line
  const { certificate: ca } = await authorities.hosts.trust()
  const over = {
    read: new OneConnection(await stage.secure(ends.read)),
    unread: new OneConnection(await stage.secure(ends.unread, { ca })),
  }
  const ways = ['read', 'unread'] as const
  const ask = async (way: keyof typeof over, path: string): Promise<number> => {
    const headers = ['Host', ends[way], 'Authorization', `Bearer ${secret.placeholder}`]
    const began = performance.now()
    const [response] = (await once(request({ agent: over[way], path, headers }).end(), 'response')) as [IncomingMessage]
    for await (const _ of response);
    return performance.now() - began
  }
  const print = (line: string) => process.stdout.write(`${line}\n`)
  const added: number[] = []
  const shares = { paced: [] as number[], body: [] as number[] }
  for (const way of ways) for (let warm = 0; warm < 50; warm += 1) await ask(way, '/')
  for (let round = 0; round < rounds; round += 1) {
    const taken = { read: [] as number[], unread: [] as number[] }
    for (let count = 0; count < requests; count += 1) for (const way of ways) taken[way].push(await ask(way, '/'))
    const [one, other] = [median(taken.read), median(taken.unread)]
    added.push(one - other)
    print(`round ${round + 1}: p50 ${one.toFixed(3)} ms read, ${other.toFixed(3)} ms unread`)
    for (const path of ['paced', 'body'] as const) {
      const ms = { read: 0, unread: 0 }
      for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
        const busy = cpuMsOf(proxy.pid)
        ms[way] = await ask(way, `/${path}/${mebibytes}`)
        const each = (cpuMsOf(proxy.pid) - busy) / mebibytes
        print(
          `  ${path} ${way}: ${((mebibytes / ms[way]) * 1000).toFixed(0)} MiB/s, ${each.toFixed(2)} ms of the proxy each`,
        )
      }
      shares[path].push(ms.unread / ms.read)
    }
  }
  print(`added to a request (p50): ${median(added).toFixed(3)} ms (bound 1)`)
  print(`bytes a second, read to unread, at the pace of a line: ${median(shares.paced).toFixed(2)} (bound 0.8)`)
  print(`bytes a second, read to unread, without a pace: ${median(shares.body).toFixed(2)} (goal 0.8)`)
  for (const way of ways) over[way].destroy()
}

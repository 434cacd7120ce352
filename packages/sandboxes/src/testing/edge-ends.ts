import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { EdgeStage, secret } from './edge-clients.ts'

/** A host whose requests the proxy reads, and one whose it does not. */
export const ends = { read: 'api.example.com', unread: 'tunnel.example.com' } as const
/** Of a gigabit line, a second. */
const LINE_MIB = 119
const part = Buffer.alloc(1024 * 1024, 'x')

/** Answers `/paced/64` with 64 MiB at the pace of a gigabit line, `/body/64` with as many at once, and any path with a word. */
const answer: RequestListener = async ({ url = '' }, response) => {
  const [, path, mebibytes = '0'] = url.split('/')
  const began = performance.now()
  for (let sent = 0; sent < Number(mebibytes); sent += 1) {
    const early = began + (sent / LINE_MIB) * 1000 - performance.now()
    if (path === 'paced' && early > 1) await sleep(early)
    if (!response.write(part)) await once(response, 'drain')
  }
  response.end('ok')
}

/**
 * Plays the two hosts, or the proxy in front of them, in this process until it is told to end. Its first line has the ports of
 * the hosts, or the path of the proxy's socket.
 * @param ports absent: the hosts
 */
export async function playEnd(ports?: readonly number[]): Promise<void> {
  await using stage = await EdgeStage.open()
  const hosts = Object.values(ends)
  if (ports === undefined) {
    const opened = await Promise.all(hosts.map(host => stage.host(host, answer)))
    process.stdout.write(`${opened.join(' ')}\n`)
  } else {
    for (const [at, host] of hosts.entries()) stage.name(host, ports[at] ?? 0)
    await stage.serve([secret])
    process.stdout.write(`${stage.path}\n`)
  }
  await once(process, 'SIGTERM')
}

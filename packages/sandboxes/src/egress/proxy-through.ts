import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { joinStreams } from './join-streams.ts'
import { relay, sentOn } from './proxy-forward.ts'
import { forwardedHeaders } from './proxy-headers.ts'

/** Sends a plain request as it came to another proxy, and its answer back. */
export async function passPlain(incoming: IncomingMessage, outgoing: ServerResponse, proxy: Duplex): Promise<void> {
  const sent = request({
    createConnection: () => proxy,
    path: incoming.url,
    ...sentOn(incoming, [
      ...['Host', incoming.headers.host ?? '', 'Connection', 'close'],
      ...forwardedHeaders(incoming.rawHeaders, ['host', 'expect', 'content-length']),
    ]),
  })
  await relay(incoming, outgoing, sent)
}

/** Asks another proxy for the tunnel, whose answer is the client's. */
export function passTunnel(incoming: IncomingMessage, client: Duplex, head: Buffer, proxy: Duplex): void {
  const program = incoming.headers['user-agent']
  const by = program === undefined ? '' : `User-Agent: ${program}\r\n`
  proxy.write(`CONNECT ${incoming.url} HTTP/1.1\r\nHost: ${incoming.url}\r\n${by}\r\n`, 'latin1')
  if (head.length > 0) proxy.write(head)
  joinStreams(client, proxy)
}

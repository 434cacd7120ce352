import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { parseObject } from '@berth/platform/kit/json.ts'
import type { ModelReply, ModelRequest } from './model-server.ts'
import { beginStream, framesOf, openaiWire, streams } from './openai-wire.ts'

/** Answers one request. It may do anything to the response, or nothing. */
export type Behaviour = (request: ModelRequest, response: ServerResponse) => void | Promise<void>

/** An upstream on loopback that sends exactly the bytes that a test chooses. */
export interface ScriptedUpstream extends AsyncDisposable {
  /** Base URL of the provider, including `/v1`. */
  readonly baseUrl: string
  readonly requests: readonly (ModelRequest & { readonly text: string })[]
  /** Number of connections whose client left before the response had ended. */
  readonly abandoned: number
  /** Sets the behaviour of the next requests, one each; the last one stays. */
  next(...behaviours: readonly [Behaviour, ...Behaviour[]]): void
}

/** Replies as OpenAI would. */
export const says =
  (reply: ModelReply): Behaviour =>
  (request, response) =>
    openaiWire.write(reply, request, response)

/** Refuses with OpenAI's error body. */
export const refuses =
  (status: number, message = 'the upstream says no', headers: Record<string, string> = {}): Behaviour =>
  (_, response) => {
    const body = { error: { message, type: 'upstream_error', param: null, code: null } }
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }

/** Sends these bytes as a stream, then does `then`: ends it, cuts the connection or falls silent. */
export const sends =
  (pieces: readonly (string | Uint8Array)[], then: 'end' | 'cut' | 'silence' = 'end'): Behaviour =>
  async (_, response) => {
    beginStream(response)
    for (const piece of pieces) await written(response, piece)
    if (then === 'end') response.end()
    if (then === 'cut') response.destroy()
  }

/** Streams the first `frames` frames of a reply, then does as told. */
export const streamsUntil =
  (reply: ModelReply, frames: number, then: 'cut' | 'silence' | 'end'): Behaviour =>
  async (request, response) => {
    if (!streams(request)) throw new Error('the request asks for no stream')
    await sends(framesOf(reply, request).slice(0, frames), then)(request, response)
  }

/** Streams a reply byte by byte, so that every event and every character is split somewhere. */
export const drips =
  (reply: ModelReply): Behaviour =>
  async (request, response) => {
    beginStream(response)
    response.socket?.setNoDelay(true)
    for (const byte of Buffer.from(framesOf(reply, request).join(''))) await written(response, Buffer.of(byte))
    response.end()
  }

function written(response: ServerResponse, piece: string | Uint8Array): Promise<void> {
  return new Promise(resolve => response.write(piece, () => resolve()))
}

export async function startScriptedUpstream(): Promise<ScriptedUpstream> {
  const requests: (ModelRequest & { readonly text: string })[] = []
  let behaviours: readonly Behaviour[] = [refuses(500, 'the test gave no behaviour')]
  let abandoned = 0
  const server = createServer(async (incoming, response) => {
    response.once('close', () => {
      if (!response.writableFinished) abandoned += 1
    })
    const { method = '', url: path = '', headers } = incoming
    const text = await textOf(incoming)
    const request = { method, path, headers, text, body: parseObject(text) }
    requests.push(request)
    const [behaviour, ...rest] = behaviours
    if (rest.length > 0) behaviours = rest
    await behaviour?.(request, response)
  })
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(0, '127.0.0.1', resolve)
  await listening
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    get abandoned() {
      return abandoned
    },
    next: (...given) => {
      behaviours = given
    },
    async [Symbol.asyncDispose]() {
      const { promise: closed, resolve: done } = Promise.withResolvers<void>()
      server.close(() => done())
      server.closeAllConnections()
      await closed
    },
  }
}

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { anthropicFrames } from '@berth/testing/models/anthropic-wire.ts'
import { geminiFrames } from '@berth/testing/models/gemini-wire.ts'
import { type ModelReply, framesOf as responsesFrames } from './responses-wire.ts'

/** A request as it arrived. */
export interface ModelRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

/** Handles one model request. */
export type Behaviour = (request: ModelRequest, response: ServerResponse) => void | Promise<void>

/** A gateway on loopback, as the engine sees it: a list of models, and replies that a test decides. */
export interface ScriptedGateway extends AsyncDisposable {
  readonly url: string
  /** The model requests, in order. */
  readonly requests: readonly ModelRequest[]
  /** Sets the behaviour for the next requests, one each; the last one repeats. */
  next(...behaviours: readonly [Behaviour | ModelReply, ...(Behaviour | ModelReply)[]]): void
  /** Sets the behaviour for the next requests for the list of models, one each; after them the list is given. */
  nextList(...behaviours: readonly Behaviour[]): void
}

/** Returns the model's input in a request, as text. */
export const inputOf = (request: ModelRequest | undefined): string => JSON.stringify(request?.body)

const beginStream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })

const isMessages = (path: string) => path.startsWith('/v1/messages')
const isGenerate = (path: string) => path.startsWith('/v1beta/')

/** Returns a reply as the frames of the stream that a path asks for. */
function framesOf(path: string, { thinking: text, ...reply }: ModelReply): string[] {
  const thinking = text === undefined ? {} : { thinking: { text, signature: signatureOf(text) } }
  if (isMessages(path)) return anthropicFrames({ ...reply, ...thinking }, 'main/m1')
  if (isGenerate(path)) return geminiFrames({ ...reply, ...thinking })
  return responsesFrames({ ...reply, ...(text !== undefined && { thinking: text }) })
}

/** The signature of a thought, for formats that have one. */
export const signatureOf = (thought: string): string => Buffer.from(`sealed ${thought}`).toString('base64')

/** Returns an error body in the format of the path. */
export function errorBody(path: string, status: number, code: string, message: string): object {
  const error = { message, type: 'error', param: null, code }
  if (isMessages(path)) return { type: 'error', error }
  return isGenerate(path) ? { error: { code: status, message, status: 'X', details: [{ reason: code }] } } : { error }
}

/** Refuses as the real gateway does. */
export const refuses =
  (status: number, code: string, message = 'no', headers: Record<string, string> = {}): Behaviour =>
  ({ path }, response) => {
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(errorBody(path, status, code, message)))
  }

/** Streams the first frames of a reply, then cuts the connection or goes silent. */
export const streamsUntil =
  (reply: ModelReply, frames: number, then: 'cut' | 'silence'): Behaviour =>
  ({ path }, response) => {
    beginStream(response)
    for (const frame of framesOf(path, reply).slice(0, frames)) response.write(frame)
    if (then === 'cut') setImmediate(() => response.destroy())
  }

/** Sends a reply with its frames changed. */
export const saysChanged =
  (reply: ModelReply, change: (frame: string) => string): Behaviour =>
  ({ path }, response) => {
    beginStream(response)
    for (const frame of framesOf(path, reply)) response.write(change(frame))
    response.end()
  }

/** Sends a reply that reports so many input and output tokens. */
export const saysUsing = (reply: ModelReply, input: number, output: number): Behaviour =>
  saysChanged(reply, frame =>
    frame
      .replace('"input_tokens":100', `"input_tokens":${input}`)
      .replace('"output_tokens":10,', `"output_tokens":${output},`)
      .replace('"total_tokens":110', `"total_tokens":${input + output}`),
  )

export const call = (name: string, args: Readonly<Record<string, unknown>>): ModelReply => ({ calls: [{ name, args }] })

/** Returns true if the gateway would accept all strings of the value. */
const isText = (value: unknown): boolean => !/\\u0000|\\ud[89a-f]/.test(JSON.stringify(value).replaceAll('\\\\', ''))

/** @param others further models of its list */
export async function startScriptedGateway(
  model: object = {},
  others: readonly object[] = [],
): Promise<ScriptedGateway> {
  const requests: ModelRequest[] = []
  let behaviours: readonly (Behaviour | ModelReply)[] = [{ text: 'the test gave no reply' }]
  const lists: Behaviour[] = []
  const server = createServer(async (incoming, response) => {
    const { headers, url: path = '' } = incoming
    const request = { path, headers, body: await json(incoming).catch(() => null) }
    if (path === '/v1/models') {
      const refusal = lists.shift()
      if (refusal !== undefined) return await refusal(request, response)
      const known = { id: 'main/m1', object: 'model', context_length: 128_000, max_output_tokens: 8192, ...model }
      response.end(JSON.stringify({ object: 'list', data: [known, ...others] }))
      return
    }
    requests.push(request)
    if (!isText(request.body)) return refuses(400, 'invalid_request')(request, response)
    const [behaviour = {}, ...rest] = behaviours
    if (rest.length > 0) behaviours = rest
    if (typeof behaviour === 'function') await behaviour(request, response)
    else await saysChanged(behaviour, frame => frame)(request, response)
  })
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(0, '127.0.0.1', resolve)
  await listening
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    next: (...given) => {
      behaviours = given
    },
    nextList: (...given) => void lists.push(...given),
    async [Symbol.asyncDispose]() {
      const { promise: closed, resolve: done } = Promise.withResolvers<void>()
      server.close(() => done())
      server.closeAllConnections()
      await closed
    },
  }
}

/** Returns the names of the tools that a request offers. */
export function toolsOf(request: ModelRequest | undefined): string[] {
  const { tools = [] } = (request?.body ?? {}) as { tools?: { name: string }[] }
  return tools.map(({ name }) => name).toSorted()
}

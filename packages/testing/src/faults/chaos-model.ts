import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { openaiWire } from '../models/openai-wire.ts'

interface Item {
  readonly role?: string
  readonly type?: string
  readonly content?: unknown
}

interface Body {
  readonly messages?: readonly Item[]
  readonly input?: readonly Item[]
  readonly tools?: readonly unknown[]
}

/** A model that follows the last message. */
export interface ObedientModel extends AsyncDisposable {
  /** For the configuration file: its provider, and the models. */
  readonly config: { readonly providers: readonly object[]; readonly models: object }
}

/**
 * Starts a model on loopback. It runs the script that the user's last message has between two lines of `~~~`, and then says
 * each line `turn …` that the user has written in the conversation so far.
 */
export async function startObedientModel(): Promise<ObedientModel> {
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request
    const body =
      method === 'POST'
        ? await json(request).then(
            read => read as Body,
            () => null,
          )
        : null
    const received = { method, path, headers, body }
    if (body === null || !openaiWire.asksForReply(received)) {
      const model = { id: 'm1', object: 'model', created: 0, owned_by: 'test' }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ object: 'list', data: [model] }))
      return
    }
    openaiWire.write(replyTo(body), received, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const models = [{ id: 'm1', contextTokens: 1_000_000, outputTokens: 8192, reasoning: false }]
  return {
    config: {
      providers: [{ id: 'main', kind: 'openai', baseUrl, apiKey: 'sk-test', models }],
      models: { default: 'main/m1' },
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function replyTo({ messages, input, tools = [] }: Body) {
  const items = messages ?? input ?? []
  const last = items.findLastIndex(item => item.role === 'user')
  const isDone = items.slice(last + 1).some(({ role, type }) => role === 'tool' || type === 'function_call_output')
  const script = /~~~\n(.*)\n~~~/s.exec(textOf(items[last]))?.[1]
  if (script !== undefined && tools.length > 0 && !isDone)
    return { calls: [{ name: 'bash', args: { command: script } }] }
  const prompts = items.filter(({ role }) => role === 'user').map(textOf)
  return { text: prompts.flatMap(text => text.match(/^turn .*$/m) ?? []).join('\n') }
}

function textOf(item: Item | undefined): string {
  const { content } = item ?? {}
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? (content as readonly { readonly text?: string }[]) : []
  return parts.map(({ text = '' }) => text).join('\n')
}

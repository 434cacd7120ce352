import type { CreateElicitationResponse } from '@agentclientprotocol/sdk'
import {
  Client,
  type ElicitRequest,
  ProtocolError,
  SdkError,
  SdkHttpError,
  SseError,
  type StandardSchemaV1,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client'
import manifest from '../../package.json' with { type: 'json' }
import { Stopwatch } from '../session/stopwatch.ts'
import type { People } from '../tools/people.ts'
import { httpTransport } from './http-transport.ts'
import type { ServerConfig } from './server-config.ts'
import { StdioTransport } from './stdio-transport.ts'

/** Most tools read from one server, and most pages of its list. */
const MAX_LISTED = 1000
const MAX_PAGES = 50
/** Disables the library's timeouts, because this class measures time itself. */
const FOREVER_MS = 2 ** 31 - 1

/** Options for opening a connection. */
export interface Connecting {
  readonly name: string
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly people: People
  /** Time for a call, not counting the time in which people are asked. */
  readonly callMs: number
  /** Time for listing the tools again. */
  readonly listMs: number
  /** Called when the list of tools has changed, or the server is gone. */
  readonly changed: () => void
}

/** The parts of a tool that a call needs. */
export interface CalledTool {
  readonly name: string
  readonly inputSchema: unknown
}

/** A connection to a server that answered. It serves until the server is gone; the engine then opens another. */
export class Connection {
  readonly #client: Client
  readonly #transport: Transport
  readonly #options: Connecting
  /** Clocks of the calls in progress. */
  readonly #clocks = new Set<Stopwatch>()
  /** Aborted when the last of these calls ends. */
  #asking = new AbortController()
  #listing: Promise<void> = Promise.resolve()
  #tools: readonly unknown[] = []
  #ended: string | null = null

  /**
   * Connects and lists the tools. Tries the 2025 handshake first, because most servers speak it; if the server refuses,
   * retries with the newer one. In the other order, older servers would get a request that some of them never answer.
   * @throws Error that says why the server cannot be used, or the signal's reason
   */
  static async open(config: ServerConfig, options: Connecting, signal: AbortSignal): Promise<Connection> {
    try {
      return await Connection.#open(config, options, signal, 'legacy')
    } catch (error) {
      if (!refusesHandshake(error)) throw error
      return Connection.#open(config, options, signal, 'auto')
    }
  }

  static async #open(config: ServerConfig, options: Connecting, signal: AbortSignal, mode: 'legacy' | 'auto') {
    const transport = transportOf(config, options)
    const connection = new Connection(transport, options, mode)
    try {
      await until(signal, connection.#client.connect(transport, { signal, timeout: FOREVER_MS }))
      await connection.#list(signal)
      if (connection.#ended !== null) throw new Error(connection.#ended)
      return connection
    } catch (error) {
      await connection.close()
      signal.throwIfAborted()
      throw transport instanceof StdioTransport && transport.ending !== '' && !refusesHandshake(error)
        ? new Error(transport.ending)
        : error
    }
  }

  private constructor(transport: Transport, options: Connecting, mode: 'legacy' | 'auto') {
    this.#transport = transport
    this.#options = options
    const asks = options.people.capabilities.elicitation?.form
    this.#client = new Client(
      { name: 'berth', version: manifest.version },
      {
        capabilities: asks ? { elicitation: { form: {} } } : {},
        // The server has validated its own output, and the model reads it either way.
        jsonSchemaValidator: {
          getValidator: () => input => ({ valid: true, data: input as never, errorMessage: undefined }),
        },
        versionNegotiation: { mode },
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#listAgain() } },
      },
    )
    this.#client.onerror = error => {
      // The stream is the whole connection; if it reconnects, the server treats it as a different one.
      if (error instanceof SseError) this.#lose(messageOf(error))
    }
    this.#client.onclose = () => this.#end(this.#ending || 'closed the connection')
    if (asks)
      this.#client.setRequestHandler('elicitation/create', (request, context) =>
        this.#ask(request, context.mcpReq.signal),
      )
  }

  /** Why the connection no longer works; null while it does. */
  get ended(): string | null {
    return this.#ended
  }

  /** The tools as the server lists them, not validated. */
  get tools(): readonly unknown[] {
    return this.#tools
  }

  /** The server's own instructions for the model. */
  get instructions(): string {
    return this.#client.getInstructions() ?? ''
  }

  /** Resolves when no listing is in progress. */
  get listed(): Promise<void> {
    return this.#listing
  }

  get #ending(): string {
    return this.#transport instanceof StdioTransport ? this.#transport.ending : ''
  }

  /**
   * Calls a tool and returns the server's answer.
   * @throws Error with a message for the model
   */
  async call(
    tool: CalledTool,
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    if (this.#ended !== null) throw new Error(this.#ended)
    const overdue = new AbortController()
    const clock = new Stopwatch(this.#options.callMs, () => overdue.abort())
    this.#clocks.add(clock)
    try {
      return await this.#client.callTool(
        { name: tool.name, arguments: args },
        {
          signal: AbortSignal.any([overdue.signal, ...(signal === undefined ? [] : [signal])]),
          timeout: FOREVER_MS,
          toolDefinition: tool as Tool,
        },
      )
    } catch (error) {
      signal?.throwIfAborted()
      if (overdue.signal.aborted) throw new Error(`did not answer within ${this.#options.callMs / 1000} seconds`)
      if (isEnd(error)) this.#lose(messageOf(error))
      throw new Error(this.#ended ?? messageOf(error))
    } finally {
      clock.stop()
      this.#clocks.delete(clock)
      if (this.#clocks.size === 0) {
        this.#asking.abort()
        this.#asking = new AbortController()
      }
    }
  }

  async close(): Promise<void> {
    this.#end('is not connected any more')
    await this.#client.close().catch(() => undefined)
    await this.#transport.close().catch(() => undefined)
  }

  #lose(reason: string): void {
    this.#end(reason)
    void this.close()
  }

  #end(reason: string): void {
    if (this.#ended !== null) return
    this.#ended = reason
    this.#options.changed()
  }

  #listAgain(): void {
    const once = this.#listing.then(() => this.#list(AbortSignal.timeout(this.#options.listMs)))
    // If listing fails, the previous list stays.
    this.#listing = once.then(this.#options.changed, () => undefined)
  }

  async #list(signal: AbortSignal): Promise<void> {
    const tools: unknown[] = []
    let cursor: string | undefined
    for (let page = 0; page < MAX_PAGES && tools.length < MAX_LISTED; page += 1) {
      if (this.#client.getServerCapabilities()?.tools === undefined) break
      const request = { method: 'tools/list' as const, ...(cursor !== undefined && { params: { cursor } }) }
      const answer = await this.#client.request(request, anything, { signal, timeout: FOREVER_MS })
      const { tools: listed, nextCursor } = (answer ?? {}) as { tools?: unknown; nextCursor?: unknown }
      if (!Array.isArray(listed)) throw new Error('sent a list of tools that cannot be read')
      tools.push(...listed)
      if (typeof nextCursor !== 'string' || nextCursor === cursor) break
      cursor = nextCursor
    }
    this.#tools = tools.slice(0, MAX_LISTED)
  }

  /** Passes a question asked during a call on to people, and pauses the calls' clocks; declines any other question. */
  async #ask({ params }: ElicitRequest, signal: AbortSignal) {
    const { name, people } = this.#options
    const { sessionId, ask } = people
    if (!('requestedSchema' in params) || this.#clocks.size === 0) return { action: 'decline' as const }
    const { message, requestedSchema } = params
    const form = { mode: 'form', sessionId, message: `${name} asks: ${message}`, requestedSchema }
    const over = AbortSignal.any([signal, this.#asking.signal])
    const elicit = () => ask<CreateElicitationResponse>('elicitation/create', form, over)
    const response = await [...this.#clocks].reduce((work, clock) => () => clock.pausedFor(work), elicit)()
    return { action: response.action, content: 'content' in response ? response.content : undefined } as never
  }
}

function transportOf(config: ServerConfig, { cwd, env }: Connecting): Transport {
  if (config.kind !== 'stdio') return httpTransport(config.kind, config.url, config.headers)
  const { command, args } = config
  return new StdioTransport({ command, args, cwd, env: { ...env, ...config.env } })
}

/** Rejects as soon as the signal aborts: some waits of the library ignore the signal that they are given. */
async function until<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>()
  const end = () => reject(signal.reason)
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  try {
    return await Promise.race([work, over])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** Accepts anything a server lists, so that one invalid tool does not hide the others. */
const anything: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'berth', validate: value => ({ value }) },
}

const refusesHandshake = (error: unknown): boolean =>
  error instanceof ProtocolError || (error instanceof SdkHttpError && error.status === 400)

/** Returns true if the server is unreachable or has forgotten the connection. */
const isEnd = (error: unknown): boolean =>
  error instanceof SdkHttpError ? error.status === 404 : !(error instanceof ProtocolError || error instanceof SdkError)

/** Returns the error's message with its cause; for `fetch`, only the cause says why a server is unreachable. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error
    ? `${error.message}: ${cause.message || String((cause as { code?: string }).code)}`
    : error.message
}

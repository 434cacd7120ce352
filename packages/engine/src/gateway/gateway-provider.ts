import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Api,
  type AssistantMessage,
  type AssistantMessageEventStream,
  createAssistantMessageEventStream,
  InMemoryCredentialStore,
  type Model,
  type SimpleStreamOptions,
  type TranscriptContext,
} from '@earendil-works/pi-ai'
import { ModelRuntime } from '@earendil-works/pi-coding-agent'
import type { Environment } from '../environment.ts'
import { asObject, parseObject } from '../json.ts'
import { markInvalidArguments } from './invalid-arguments.ts'
import { fetchModelFacts, type ModelFacts, ModelFaultError, modelConfig } from './model-facts.ts'
import { faultOf, type ModelFault } from './model-fault.ts'
import { MAX_RETRY_AFTER_MS, withRetries } from './retries.ts'
import { type Watched, watchFetch } from './watched-fetch.ts'
import { generate } from './wires/generate.ts'
import { messages } from './wires/messages.ts'
import { responses } from './wires/responses.ts'
import type { Wire, WireName } from './wires/wire.ts'

const PROVIDER = 'berth'
/** A private API name, so the SDK never picks another implementation of the wire. */
const API = 'berth'

const wires: Readonly<Record<WireName, Wire>> = { responses, messages, generate }

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The prompt's limits, consulted before every model request. */
export interface RequestGate {
  /** Returns true once a limit or a cancellation has stopped the prompt. */
  readonly stopped: () => boolean
  /** Returns the output tokens that the prompt may still use. */
  readonly outputTokensLeft: () => number
  /** Does work in which the prompt waits for people, so that its time stands still. */
  readonly whileWaiting: <Result>(work: () => Promise<Result>) => Promise<Result>
}

/**
 * The gateway as the engine's only provider of models.
 *
 * It asks each model in the format of the model's provider, where the gateway passes that on. Reasoning arrives sealed or
 * signed; the conversation's file keeps it and every later request replays it, so a model continues from its own thoughts
 * after tool calls, restarts and checkpoints.
 *
 * The engine knows no credential: it sends a placeholder, and the proxy outside the sandbox replaces it with the Run's.
 */
export class GatewayProvider {
  readonly #environment: Environment
  readonly #facts = new Map<string, ModelFacts>()
  readonly #runtime: ModelRuntime
  /** By model, the time before which the gateway asked not to be called for it again, in ms since the epoch. */
  readonly #notBefore = new Map<string, number>()
  #lastFault: ModelFault | null = null
  gate: RequestGate = {
    stopped: () => false,
    outputTokensLeft: () => Number.POSITIVE_INFINITY,
    whileWaiting: work => work(),
  }

  private constructor(environment: Environment, runtime: ModelRuntime) {
    this.#environment = environment
    this.#runtime = runtime
  }

  static async create(environment: Environment): Promise<GatewayProvider> {
    const credentials = new InMemoryCredentialStore()
    const runtime = await ModelRuntime.create({ credentials, modelsPath: null, refreshOnCreate: false })
    return new GatewayProvider(environment, runtime)
  }

  get runtime(): ModelRuntime {
    return this.#runtime
  }

  /** The fault of the last request that failed. */
  get lastFault(): ModelFault | null {
    return this.#lastFault
  }

  /**
   * Returns a model by its id in the gateway's catalog; fetches it once.
   * @throws ModelFaultError if the gateway is unreachable or refuses
   */
  async model(id: string, signal: AbortSignal): Promise<Model<Api>> {
    if (!this.#facts.has(id)) {
      const { gatewayUrl, retryBaseMs: baseMs } = this.#environment
      // The line from the sandbox's host to the gateway may be cut at this moment, as at any other request.
      this.#facts.set(id, await withRetries(() => fetchModelFacts(gatewayUrl, id, signal), { baseMs, signal }))
      this.#register()
    }
    const model = this.#runtime.getModel(PROVIDER, id)
    if (model === undefined) throw new Error(`the model ${id} was not registered`)
    return model
  }

  /** Returns the provider's own name for a model. */
  nameOf(id: string): string {
    return this.#facts.get(id)?.providerModel ?? id
  }

  /** Returns a model of the gateway's list; null if the list has no such model, or cannot be read. */
  async listed(id: string, signal: AbortSignal): Promise<Model<Api> | null> {
    try {
      const model = await this.model(id, signal)
      return this.#facts.get(id)?.isListed === true ? model : null
    } catch (error) {
      if (error instanceof ModelFaultError) return null
      throw error
    }
  }

  #register(): void {
    this.#runtime.registerProvider(PROVIDER, {
      name: 'Berth',
      baseUrl: this.#environment.gatewayUrl,
      apiKey: 'berth',
      api: API,
      streamSimple: (model, context, options) => this.#stream(model, context, options ?? {}),
      models: [...this.#facts.values()].map(modelConfig),
    })
  }

  #stream(model: Model<Api>, context: TranscriptContext, options: SimpleStreamOptions): AssistantMessageEventStream {
    const stream = createAssistantMessageEventStream()
    void this.#pump(stream, model, context, options)
    return stream
  }

  async #pump(
    stream: AssistantMessageEventStream,
    model: Model<Api>,
    context: TranscriptContext,
    options: SimpleStreamOptions,
  ): Promise<void> {
    const { signal } = options
    try {
      if (this.gate.stopped()) return fail(stream, emptyMessage(model), false, 'stopped')
      const waitMs = (this.#notBefore.get(model.id) ?? 0) - Date.now()
      if (waitMs > 0) await sleep(waitMs, undefined, signal === undefined ? {} : { signal })
      const { modelIdleMs, retryBaseMs } = this.#environment
      const watched = watchFetch(modelIdleMs, request =>
        this.gate.whileWaiting(() => sleep(retryBaseMs, undefined, request === undefined ? {} : { signal: request })),
      )
      const facts = this.#facts.get(model.id)
      if (facts === undefined) throw new Error(`the model ${model.id} is not known`)
      const answer = wires[facts.wire]({
        model,
        facts,
        context,
        // People may take any time to raise a budget; `fetch` itself bounds its wait for the headers.
        options: { ...options, apiKey: 'berth', maxRetries: 0, timeoutMs: LONGEST_TIMER_MS },
        fetch: watched.fetch,
        outputTokensLeft: this.gate.outputTokensLeft(),
      })
      const json = new Map<number, string>()
      for await (const event of answer) {
        // All events hold one message. A wire may know its model by another name.
        if (event.type === 'start') event.partial.model = model.id
        if (event.type === 'toolcall_delta') {
          json.set(event.contentIndex, (json.get(event.contentIndex) ?? '') + event.delta)
        }
        if (event.type === 'toolcall_end') markInvalidArguments(event.toolCall, json.get(event.contentIndex))
        if (event.type !== 'error') stream.push(event)
        else if (event.reason === 'aborted') fail(stream, event.error, true)
        else fail(stream, event.error, false, this.#describe(model.id, faultIn(watched, event.error)))
      }
    } catch (error) {
      fail(stream, emptyMessage(model), signal?.aborted === true, `model_response_invalid: ${String(error)}`)
    }
    stream.end()
  }

  /**
   * Returns an error text that the SDK's agent loop understands. From the text, the loop decides whether to retry and
   * whether the conversation is too long. It could take any number for a status, so the gateway's message stays out.
   * The loop never retries "out of budget".
   */
  #describe(modelId: string, fault: ModelFault): string {
    const { code, transient, retryAfterMs = 0, detail } = fault
    this.#lastFault = fault
    process.stderr.write(`${JSON.stringify({ msg: 'a request to the model failed', code, detail })}\n`)
    if (code === 'model_context_exceeded') return `${code}: context_length_exceeded`
    if (!transient || retryAfterMs > MAX_RETRY_AFTER_MS) return `${code}: out of budget`
    this.#notBefore.set(modelId, Math.max(this.#notBefore.get(modelId) ?? 0, Date.now() + retryAfterMs))
    return `${code}: please retry your request`
  }
}

function faultIn(watched: Watched, message: AssistantMessage): ModelFault {
  if (watched.refusal !== null) return faultOf(watched.refusal)
  const text = message.errorMessage ?? ''
  if (message.rawStopReason === 'refusal') return faultOf({ status: 400, message: text })
  if (watched.unreachable) return faultOf({ code: 'unreachable', message: text })
  // The last event of a failed stream: Anthropic's as it is, others as `<code>: <message>`.
  const { code = /^(?:Error Code )?([a-z_]+): /.exec(text)?.[1], message: reason = text } = asObject(
    parseObject(text)?.['error'],
  )
  return faultOf({ message: String(reason), ...(typeof code === 'string' && code !== 'unknown' && { code }) })
}

function fail(
  stream: AssistantMessageEventStream,
  message: AssistantMessage,
  aborted: boolean,
  errorMessage?: string,
): void {
  const reason = aborted ? 'aborted' : 'error'
  const { errorMessage: _, ...rest } = message
  const error = {
    ...rest,
    stopReason: reason,
    ...(errorMessage !== undefined && !aborted && { errorMessage }),
  } as const
  stream.push({ type: 'error', reason, error })
  stream.end()
}

function emptyMessage(model: Model<Api>): AssistantMessage {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
  return {
    role: 'assistant',
    content: [],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost },
    stopReason: 'error',
    timestamp: Date.now(),
  }
}

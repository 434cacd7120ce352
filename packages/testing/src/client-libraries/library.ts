import { z } from 'zod'

/** A provider of each kind: passed through, and OpenAI-compatible, Anthropic's and Google's. */
export const models = {
  openai: 'oai/gpt-5',
  compatible: 'compat/qwen3',
  anthropic: 'ant/claude-opus-4-5',
  google: 'goo/gemini-2.5-pro',
} as const

export type ModelId = (typeof models)[keyof typeof models]

export const everyModel: readonly ModelId[] = Object.values(models)

/** The gateway, as a client is told of it. */
export interface Endpoint {
  readonly origin: string
  readonly key: string
}

/** A client library, in one of its ways to call a model. Each method drives it as its users do. */
export interface ClientLibrary {
  /** Its package, and the way. */
  readonly name: string
  readonly models: readonly ModelId[]
  /** The models whose signed reasoning it sends back. */
  readonly keepsReasoning: readonly ModelId[]
  /** False if it loses the reasoning of a stream. */
  readonly keepsStreamed?: false
  /** Asks {@link question} and returns the text of the answer. */
  ask(endpoint: Endpoint, model: ModelId): Promise<string>
  /** The same, from the deltas of a stream. */
  stream(endpoint: Endpoint, model: ModelId): Promise<string>
  /** Asks {@link task} with the tool `add` and returns the text after its calls. */
  loop(endpoint: Endpoint, model: ModelId, streams: boolean): Promise<string>
  /** Asks for an answer by {@link place}. */
  structured(endpoint: Endpoint, model: ModelId): Promise<unknown>
}

export const question = 'Say hello'
export const task = 'Add 1 and 2, and 3 and 4'

/** The schema of a structured answer. */
export const place = z.object({ city: z.string(), degrees: z.number() })
export const placeSchema = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
}

export const addition = z.object({ a: z.number(), b: z.number() })
export type Addition = z.infer<typeof addition>
export const additionSchema = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
  additionalProperties: false,
}

/** The tool `add`. */
export const add = ({ a, b }: Addition): string => `sum-${a + b}`
export const description = 'Adds two numbers'

/** Joins the pieces of a stream. */
export const joined = async (pieces: AsyncIterable<string>): Promise<string> => (await Array.fromAsync(pieces)).join('')

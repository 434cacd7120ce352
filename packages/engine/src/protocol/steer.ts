import { type ContentBlock, RequestError } from '@agentclientprotocol/sdk'

/** A message that is to join the prompt under way, and the id by which the conversation knows it. */
export interface Steer {
  readonly sessionId: string
  readonly id: string
  readonly prompt: readonly ContentBlock[]
}

/** Reads the parameters of `_berth/steer`. @throws RequestError if they are not such */
export function readSteer(params: unknown): Steer {
  const { sessionId, id, prompt } = (params ?? {}) as Partial<Steer>
  if (typeof sessionId !== 'string' || typeof id !== 'string' || !Array.isArray(prompt)) {
    throw RequestError.invalidParams(undefined, 'a message needs `sessionId`, `id` and `prompt`')
  }
  return { sessionId, id, prompt }
}

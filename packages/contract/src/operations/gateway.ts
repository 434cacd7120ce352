import type { TSchema } from 'typebox'
import type { ErrorCode } from '../error.ts'
import { CreateChatCompletion } from '../gateway/chat-request.ts'
import { ModelList } from '../gateway/model.ts'
import { CreateResponse } from '../gateway/responses-request.ts'
import { operation } from '../operation.ts'
import { OpenObject } from '../scalar.ts'

const ofCalls: readonly ErrorCode[] = [
  'model_not_found',
  'insufficient_quota',
  'cost_budget_exceeded',
  'cost_unknown',
  'upstream_request_refused',
  'upstream_credential_refused',
  'upstream_rate_limited',
  'upstream_overloaded',
  'upstream_failed',
  'upstream_invalid_response',
  'upstream_unreachable',
  'upstream_cut',
  'upstream_timeout',
]

const answer = (description: string, schema: TSchema) => ({
  200: { description, schema, mediaTypes: ['application/json', 'text/event-stream'] },
})

/** The AI gateway, served at the account service's URL (interface 4.12). */
export const gatewayOperations = {
  listModels: operation({
    method: 'GET',
    path: '/v1/models',
    summary: 'List models',
    description: 'What the caller may ask for: models of the configured providers, and aliases.',
    tag: 'AI gateway',
    access: 'gateway',
    capability: 'svc.ai.invoke',
    responses: { 200: { description: 'The models.', schema: ModelList } },
    errors: [],
  }),
  createResponse: operation({
    method: 'POST',
    path: '/v1/responses',
    summary: 'Create a response',
    description: "OpenAI's Responses. Nothing is kept: another turn replays input and output items.",
    tag: 'AI gateway',
    access: 'gateway',
    capability: 'svc.ai.invoke',
    body: CreateResponse,
    responses: answer('The response, or with `stream` its events.', OpenObject),
    errors: ofCalls,
  }),
  createChatCompletion: operation({
    method: 'POST',
    path: '/v1/chat/completions',
    summary: 'Create a chat completion',
    description: "OpenAI's Chat Completions.",
    tag: 'AI gateway',
    access: 'gateway',
    capability: 'svc.ai.invoke',
    body: CreateChatCompletion,
    responses: answer('The completion, or with `stream` its chunks.', OpenObject),
    errors: ofCalls,
  }),
} as const

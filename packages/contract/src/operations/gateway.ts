import type { TSchema } from 'typebox'
import type { ErrorCode } from '../error.ts'
import { CreateChatCompletion } from '../gateway/chat-request.ts'
import { CountContentTokens, GenerateContent, GenerateStreamQuery } from '../gateway/generate-request.ts'
import { CountMessageTokens, CreateMessage, MessagesHeaders, MessagesQuery } from '../gateway/messages-request.ts'
import {
  GoogleModel,
  GoogleModelList,
  GoogleModelListQuery,
  Model,
  ModelHeaders,
  ModelList,
  ModelListQuery,
  ModelPath,
} from '../gateway/model.ts'
import { CreateResponse } from '../gateway/responses-request.ts'
import { operation } from '../operation.ts'
import { OpenObject } from '../scalar.ts'

const ofCounts: readonly ErrorCode[] = [
  'model_not_found',
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

const ofCalls: readonly ErrorCode[] = [
  'insufficient_quota',
  'cost_budget_exceeded',
  'budget_reached',
  'cost_unknown',
  ...ofCounts,
]

const slashes = "Slashes in the model's id may be sent as they are or as `%2F`."

const googlePaths = `${slashes} The path may also begin with \`/v1\`, and \`models/\` may be left out.`

const requestId = { 'request-id': 'Id of the request, as in `x-request-id`.' }

const answer = (description: string, schema: TSchema, headers: Readonly<Record<string, string>> = {}) => ({
  200: { description, schema, mediaTypes: ['application/json', 'text/event-stream'], headers },
})

const counted = { description: 'The count, as the provider returns it.', schema: OpenObject }

/** The AI gateway. */
export const gatewayOperations = {
  listModels: operation({
    method: 'GET',
    path: '/v1/models',
    summary: 'List models',
    description:
      "Lists the models that the caller may use: those of the configured providers, and aliases. With `anthropic-version`, the list has Anthropic's format (`data`, `has_more`, `first_id`, `last_id`; of each model `type`, `id`, `display_name`, `created_at`, `max_input_tokens`, `max_tokens`, `capabilities`) and holds the models that can be used in it. With `x-goog-api-key`, it is the list of `/v1beta/models`. The header `x-svc-silent-providers` names the providers that did not answer with their lists; of those it has what they told last.",
    tag: 'AI gateway',
    access: 'gateway',
    dialect: 'openai',
    shared: true,
    capability: 'svc.ai.invoke',
    query: ModelListQuery,
    headers: ModelHeaders,
    responses: { 200: { description: 'The models.', schema: ModelList } },
    errors: [],
  }),
  getModel: operation({
    method: 'GET',
    path: '/v1/models/{model}',
    summary: 'Get a model',
    description: `Returns a model that the caller may use, in the format that \`listModels\` would use for the caller. ${slashes}`,
    tag: 'AI gateway',
    access: 'gateway',
    dialect: 'openai',
    shared: true,
    capability: 'svc.ai.invoke',
    params: ModelPath,
    headers: ModelHeaders,
    responses: { 200: { description: 'The model.', schema: Model } },
    errors: ['model_not_found'],
  }),
  listContentModels: operation({
    method: 'GET',
    path: '/v1beta/models',
    summary: "List models in Google's format",
    description: "Lists the models that the caller may use over Google's generateContent.",
    tag: 'AI gateway',
    access: 'gateway',
    dialect: 'google',
    capability: 'svc.ai.invoke',
    query: GoogleModelListQuery,
    responses: { 200: { description: 'The models.', schema: GoogleModelList } },
    errors: [],
  }),
  getContentModel: operation({
    method: 'GET',
    path: '/v1beta/models/{model}',
    summary: "Get a model in Google's format",
    description: `Returns a model that the caller may use over Google's generateContent. ${slashes}`,
    tag: 'AI gateway',
    access: 'gateway',
    dialect: 'google',
    capability: 'svc.ai.invoke',
    params: ModelPath,
    responses: { 200: { description: 'The model.', schema: GoogleModel } },
    errors: ['model_not_found'],
  }),
  createResponse: operation({
    method: 'POST',
    path: '/v1/responses',
    summary: 'Create a response',
    description:
      "OpenAI's Responses API. The gateway keeps nothing, so each turn must send the earlier input and output items again.",
    tag: 'AI gateway',
    access: 'gateway',
    dialect: 'openai',
    capability: 'svc.ai.invoke',
    body: CreateResponse,
    responses: answer('The response; with `stream`, its events.', OpenObject),
    errors: ofCalls,
  }),
  createChatCompletion: operation({
    method: 'POST',
    path: '/v1/chat/completions',
    summary: 'Create a chat completion',
    description: "OpenAI's Chat Completions API.",
    tag: 'AI gateway',
    access: 'gateway',
    dialect: 'openai',
    capability: 'svc.ai.invoke',
    body: CreateChatCompletion,
    responses: answer('The completion; with `stream`, its chunks.', OpenObject),
    errors: ofCalls,
  }),
  createMessage: operation({
    method: 'POST',
    path: '/v1/messages',
    summary: 'Create a message',
    description:
      "Anthropic's Messages API. The gateway passes requests through to providers that speak it, and does not translate them.",
    tag: 'AI gateway',
    access: 'gateway',
    dialect: 'anthropic',
    capability: 'svc.ai.invoke',
    query: MessagesQuery,
    headers: MessagesHeaders,
    body: CreateMessage,
    responses: answer('The message; with `stream`, its events.', OpenObject, requestId),
    errors: ofCalls,
  }),
  countMessageTokens: operation({
    method: 'POST',
    path: '/v1/messages/count_tokens',
    summary: 'Count the tokens of a message',
    description: "Anthropic's token count. It is free, so the gateway does not record it.",
    tag: 'AI gateway',
    access: 'gateway',
    dialect: 'anthropic',
    capability: 'svc.ai.invoke',
    query: MessagesQuery,
    headers: MessagesHeaders,
    body: CountMessageTokens,
    responses: { 200: { ...counted, headers: requestId } },
    errors: ofCounts,
  }),
  generateContent: operation({
    method: 'POST',
    path: '/v1beta/models/{model}:generateContent',
    summary: 'Generate content',
    description: `Google's generateContent. The gateway passes requests through to providers that speak it, and does not translate them. ${googlePaths}`,
    tag: 'AI gateway',
    access: 'gateway',
    dialect: 'google',
    capability: 'svc.ai.invoke',
    params: ModelPath,
    body: GenerateContent,
    responses: { 200: { description: 'The content.', schema: OpenObject } },
    errors: ofCalls,
  }),
  streamGenerateContent: operation({
    method: 'POST',
    path: '/v1beta/models/{model}:streamGenerateContent',
    summary: 'Stream generated content',
    description: `Google's streamGenerateContent: the same as generateContent, but as server-sent events. ${googlePaths}`,
    tag: 'AI gateway',
    access: 'gateway',
    dialect: 'google',
    capability: 'svc.ai.invoke',
    params: ModelPath,
    query: GenerateStreamQuery,
    body: GenerateContent,
    responses: {
      200: { description: 'Parts of the content.', schema: OpenObject, mediaTypes: ['text/event-stream'] },
    },
    errors: ofCalls,
  }),
  countContentTokens: operation({
    method: 'POST',
    path: '/v1beta/models/{model}:countTokens',
    summary: 'Count the tokens of content',
    description: `Google's token count. It is free, so the gateway does not record it. ${googlePaths}`,
    tag: 'AI gateway',
    access: 'gateway',
    dialect: 'google',
    capability: 'svc.ai.invoke',
    params: ModelPath,
    body: CountContentTokens,
    responses: { 200: counted },
    errors: ofCounts,
  }),
} as const

import { asObject, isObject, type Json } from '@berth/platform/kit/json.ts'

/**
 * Returns the part of a response that its request fixes, with every field that OpenAI's clients and the Open Responses
 * schema expect, null if there is no value.
 */
export function requestedFields(body: Json): Json {
  const reasoning = asObject(body['reasoning'])
  const text = asObject(body['text'])
  const tools = Array.isArray(body['tools']) ? body['tools'] : []
  return {
    access_programs: null,
    background: false,
    conversation: null,
    frequency_penalty: 0,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: body['max_tool_calls'] ?? null,
    metadata: body['metadata'] ?? {},
    moderation: null,
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt: null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    prompt_cache_retention: body['prompt_cache_retention'] ?? null,
    reasoning: {
      effort: reasoning['effort'] ?? null,
      summary: reasoning['summary'] ?? reasoning['generate_summary'] ?? null,
    },
    safety_identifier: body['safety_identifier'] ?? null,
    service_tier: body['service_tier'] ?? 'auto',
    store: body['store'] ?? false,
    temperature: body['temperature'] ?? 1,
    text: { format: text['format'] ?? { type: 'text' }, verbosity: text['verbosity'] ?? 'medium' },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: tools.map(toolOf),
    top_logprobs: body['top_logprobs'] ?? 0,
    top_p: body['top_p'] ?? 1,
    truncation: body['truncation'] ?? 'disabled',
    user: body['user'] ?? null,
  }
}

const toolOf = (tool: unknown): unknown =>
  isObject(tool) ? { description: null, parameters: null, strict: null, ...tool } : tool

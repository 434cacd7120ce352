/**
 * Members that client libraries put into messages, content parts, calls, items and tools, and that ask nothing of a
 * model: names and ids, hints about caches, other providers' reasoning, and parts of answers that are sent back. The
 * gateway leaves them out where it translates.
 */
export const ignoredMembers = [
  'annotations',
  'cache_control',
  'created_at',
  'extra_content',
  'id',
  'index',
  'logprobs',
  'metadata',
  'name',
  'parsed',
  'parsed_arguments',
  'phase',
  'prompt_cache_breakpoint',
  'provider_specific_fields',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'reasoning_opaque',
  'reasoning_text',
  'role',
  'signature',
  'status',
  'thinking_blocks',
  'type',
] as const

const list = ignoredMembers.map(name => `\`${name}\``).join(', ')

/** Says in the OpenAPI document how the gateway treats members that the schemas leave open. */
export const membersInside = `Members and types that the gateway does not know pass to a provider that speaks the format. Where the gateway translates, it leaves out members that ask nothing of a model (${list}, and any that is null or empty), and refuses others with a 400 that names the path.`

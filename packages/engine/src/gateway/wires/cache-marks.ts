import { isObject, type Json } from '../../json.ts'

const mark = { cache_control: { type: 'ephemeral' } }

/**
 * Marks the prefix of an Anthropic request that the next one begins with: after the tools, after the system text, and
 * after each of the last two messages of the user side. Anthropic reads from its cache up to the last mark whose prefix it
 * knows, and looks only twenty parts back from each; the earlier mark of one request is the later one of the request before.
 *
 * A message has the same form with and without a mark, because another form would be another prefix.
 */
export function markPrefix(body: Json): Json {
  const { tools, system } = body
  const messages = listOf(body['messages']).map(message =>
    typeof message['content'] === 'string'
      ? { ...message, content: [{ type: 'text', text: message['content'] }] }
      : message,
  )
  const marked = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : [])).slice(-2)
  return {
    ...body,
    ...(Array.isArray(tools) && { tools: markLast(tools) }),
    ...(Array.isArray(system) && { system: markLast(system) }),
    messages: messages.map((message, index) =>
      marked.includes(index) ? { ...message, content: markLast(listOf(message['content'])) } : message,
    ),
  }
}

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : [])

const markLast = (list: readonly object[]) =>
  list.map((item, index) => (index === list.length - 1 ? { ...item, ...mark } : item))

import { spliceMembers } from '../../kit/json-splice.ts'
import { MessagesRelay, readMessagesUsage } from './messages-relay.ts'
import type { CountingFormat, FormattedRequest } from './wire-format.ts'

const callAt = (path: string, { query, model }: FormattedRequest) => ({
  path: query['beta'] === 'true' ? `${path}?beta=true` : path,
  members: { model: JSON.stringify(model.model) },
})

/** Anthropic's Messages API. */
export const messagesFormat: CountingFormat = {
  call: request => callAt('/messages', request),
  countCall: request => callAt('/messages/count_tokens', request),
  whole(answer, bytes, { model }) {
    if (!Array.isArray(answer['content'])) return null
    const body = spliceMembers(bytes, { model: JSON.stringify(model.id) })
    return { body, usage: readMessagesUsage(answer['usage']) }
  },
  relay: ({ model }) => new MessagesRelay(model.id),
}

import { MessagesRelay, readMessagesUsage } from './messages-relay.ts'
import type { CountingFormat, FormattedRequest } from './wire-format.ts'

const callAt = (path: string, { query, model }: FormattedRequest) => ({
  path: query['beta'] === 'true' ? `${path}?beta=true` : path,
  members: { model: model.model },
})

/** Anthropic's Messages API. */
export const messagesFormat: CountingFormat = {
  call: request => callAt('/messages', request),
  countCall: request => callAt('/messages/count_tokens', request),
  whole(answer, { model }) {
    if (!Array.isArray(answer['content'])) return null
    return { body: { ...answer, model: model.id }, usage: readMessagesUsage(answer['usage']) }
  },
  relay: ({ model }) => new MessagesRelay(model.id),
}

import type { FastifyReply } from 'fastify'
import type { OpenStreams } from '../connection/open-streams.ts'
import type { Reply } from '../routing/handler.ts'
import { streamLimits, writeEventStream } from './sse.ts'

/** Sends a handler's reply. Text that is already JSON goes out byte for byte. */
export async function sendReply(reply: FastifyReply, answer: Reply, open: OpenStreams): Promise<FastifyReply> {
  if (answer.headers !== undefined) reply.headers(answer.headers)
  if ('events' in answer) return await sendEvents(reply, answer.events, open)
  reply.code(answer.status)
  if ('json' in answer) return reply.type('application/json; charset=utf-8').send(answer.json)
  if ('bytes' in answer) return reply.send(answer.bytes)
  return 'body' in answer ? reply.send(answer.body) : reply.send()
}

async function sendEvents(
  reply: FastifyReply,
  frames: AsyncIterable<string | Uint8Array>,
  open: OpenStreams,
): Promise<FastifyReply> {
  reply.hijack()
  try {
    const end = await writeEventStream({
      response: reply.raw,
      headers: reply.getHeaders(),
      frames,
      open,
      limits: streamLimits,
    })
    if (end === 'slow') reply.log.warn('closed a stream because its reader was too slow')
  } catch (error) {
    reply.log.error({ err: error }, 'a stream broke off')
  }
  return reply
}

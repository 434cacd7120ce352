import { type BerthClient, type Event, followSession as follow, isTerminalRunEvent, type Session } from '@berth/client'
import { Type } from 'typebox'
import { type ToolCall, tool } from '../tool.ts'
import { clip, paragraphOf, waitingText } from '../words.ts'

/** A model reads this much at once; the log has the rest. */
const CHARACTERS_MOST = 24_000

export const followSession = tool({
  name: 'follow_session',
  title: 'Wait for news of a session',
  description:
    'Waits until the run of a session ends, its agent waits for an answer, or the time is over, and returns what has happened since `after`. Nothing is lost between two calls: pass the returned sequence as the next `after`.',
  input: Type.Object({
    sessionId: Type.String(),
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Sequence that the last call returned; without it, from the beginning.',
      }),
    ),
    seconds: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 300, description: 'How long to wait for news at most; 45 if not given.' }),
    ),
  }),
  reads: true,
  async run({ sessionId, after = 0, seconds = 45 }, call) {
    const { client, signal } = call
    const { session } = await client.sessions.get(sessionId, { signal })
    const events = await newsOf(session, { after, seconds }, call)
    const [now, open] = await Promise.all([
      client.sessions.get(sessionId, { signal }),
      client.interactions.list(sessionId, { signal }),
    ])
    const { phase, sessionUrl } = now.session
    const sequence = events.at(-1)?.sequence ?? after
    const waiting = open.interactions
    const said = events.map(paragraphOf).filter(text => text !== '')
    const isAtEnd = sequence >= now.session.lastEventSequence
    return {
      text: [
        clip(said.join('\n\n'), CHARACTERS_MOST),
        ...waiting.map(each => `The agent waits for an answer. ${waitingText(each)}`),
        `The session is ${phase}${isAtEnd ? '' : ', and has more to tell'}; call again with after ${sequence}. ${sessionUrl}`,
      ]
        .filter(text => text !== '')
        .join('\n\n'),
      data: {
        sessionId,
        sessionUrl,
        phase,
        sequence,
        runId: now.session.activeRunId ?? null,
        waiting: waiting.map(({ id, kind, request }) => ({ interactionId: id, kind, request })),
      },
    }
  },
})

/** Reads the log up to its head, and further while a Run goes on and waits for nobody. */
async function newsOf(
  session: Session,
  { after, seconds }: { after: number; seconds: number },
  call: ToolCall,
): Promise<readonly Event[]> {
  const { client, signal } = call
  const head = session.lastEventSequence
  const goesOn = session.activeRunId !== undefined && !(await isWaiting(client, session.id, signal))
  if (after >= head && !goesOn) return []
  const news: Event[] = []
  const until = (event: Event) =>
    event.sequence >= head && (!goesOn || isTerminalRunEvent(event) || event.type === 'svc.interaction.opened')
  const late = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)])
  for await (const event of follow({ client, sessionId: session.id, after, until, signal: late })) {
    news.push(event)
    const text = event.sequence > head ? paragraphOf(event) : ''
    if (text !== '') await call.progress(clip(text, 500))
  }
  signal.throwIfAborted()
  return news
}

const isWaiting = async (client: BerthClient, sessionId: string, signal: AbortSignal): Promise<boolean> =>
  (await client.interactions.list(sessionId, { signal })).interactions.length > 0

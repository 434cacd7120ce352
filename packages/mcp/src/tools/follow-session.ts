import {
  type BerthClient,
  BerthError,
  type Event,
  followSession as follow,
  isTerminalRunEvent,
  type Session,
  statusLabel,
} from '@berth/client'
import { changesOf, emptyTranscript, extendTranscript, planLabel } from '@berth/client/transcript'
import { Type } from 'typebox'
import { Excerpt } from '../excerpt.ts'
import { paragraphOf } from '../paragraph.ts'
import { clip, waitingText } from '../text.ts'
import { orNull, type ToolCall, tool } from '../tool.ts'

/** A model reads this much at once; the log has the rest. */
const CHARACTERS_MOST = 24_000
/** A long log may be read for so long, even by a call that waits for nothing. */
const READING_SECONDS = 20
/** Rows and steps of the transcript that a call holds: a call that began longer ago is told by its end alone. */
const ROWS_KEPT = 128

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
  output: Type.Object({
    sessionId: Type.String(),
    sessionUrl: Type.String(),
    phase: Type.String({ description: '`idle` if no run is active.' }),
    status: Type.String({ description: 'As list_sessions has it.' }),
    sequence: Type.Integer({ description: 'The next `after`.' }),
    runId: orNull('The active run.'),
    ended: Type.Union(
      [
        Type.Object({ runId: Type.String(), status: Type.String(), output: Type.Optional(Type.Unknown()) }),
        Type.Null(),
      ],
      {
        description: 'The last run that this call saw end, with the JSON result that was asked for by outputSchema.',
      },
    ),
    plan: Type.Array(Type.Object({ content: Type.String(), status: Type.String() }), {
      description: "The agent's to-do list.",
    }),
    background: Type.Array(Type.String(), { description: 'Commands that the agent has left running.' }),
    waiting: Type.Array(Type.Object({ interactionId: Type.String(), kind: Type.String(), request: Type.Object({}) }), {
      description: 'What the agent waits for.',
    }),
  }),
  reads: true,
  async run({ sessionId, after = 0, seconds = 45 }, call) {
    const { client, signal } = call
    const { session } = await client.call('getSession', { sessionId }, { signal })
    const { sequence, text, ended } = await newsOf(session, { after, seconds }, call)
    // A service that stops refuses to be asked again.
    const isStopping = call.stopping?.aborted === true
    const [now, open] = isStopping
      ? [{ session }, { interactions: [] }]
      : await Promise.all([
          client.call('getSession', { sessionId }, { signal }),
          client.call('listInteractions', { sessionId }, { signal }),
        ])
    const { phase, status, sessionUrl, plan = null, background = [] } = now.session
    const running = background.filter(command => command.status === 'running').map(({ command }) => command)
    const waiting = open.interactions
    const isAtEnd = !isStopping && sequence >= now.session.lastEventSequence
    return {
      text: [
        text,
        plan === null ? '' : `To-do list: ${planLabel(plan.entries)}`,
        running.length === 0 ? '' : `In the background: ${running.join('; ')}`,
        ...waiting.map(each => `The agent waits for an answer. ${waitingText(each)}`),
        `${statusLabel(status)}${isAtEnd ? '' : ', with more to tell'}; call again with after ${sequence}. ${sessionUrl}`,
      ]
        .filter(part => part !== '')
        .join('\n\n'),
      data: {
        sessionId,
        sessionUrl,
        phase,
        status,
        sequence,
        runId: now.session.activeRunId ?? null,
        ended,
        plan: (plan?.entries ?? []).map(({ content, status }) => ({ content, status })),
        background: running,
        waiting: waiting.map(({ id, kind, request }) => ({ interactionId: id, kind, request })),
      },
    }
  },
})

/** The Events of one call: the sequence of the last, a text of all, and the last Run that has ended. */
interface News {
  readonly sequence: number
  readonly text: string
  readonly ended: EndedRun | null
}

interface EndedRun {
  readonly runId: string
  readonly status: string
  readonly output?: unknown
}

/** Reads the log up to its head, and further while a Run goes on and waits for nobody. It keeps the text alone. */
async function newsOf(
  session: Session,
  { after, seconds }: { after: number; seconds: number },
  call: ToolCall,
): Promise<News> {
  const { client, signal } = call
  const head = session.lastEventSequence
  const goesOn = session.activeRunId !== undefined && !(await isWaiting(client, session.id, signal))
  const text = new Excerpt(CHARACTERS_MOST)
  let transcript = emptyTranscript
  let sequence = after
  let ended: EndedRun | null = null
  const news = () => ({ sequence, text: text.text, ended })
  if (after >= head && !goesOn) return news()
  using limit = new TimeLimit(seconds, () => sequence >= head)
  const until = (event: Event) =>
    event.sequence >= head &&
    (!goesOn || limit.isOver || isTerminalRunEvent(event) || event.type === 'svc.interaction.opened')
  const ends = [signal, limit.signal, ...(call.stopping === undefined ? [] : [call.stopping])]
  const onInterruption = ({ fault }: { readonly fault: unknown }) => {
    // More streams or requests than the credential may have: waiting here would ask for yet more.
    if (fault instanceof BerthError && fault.status === 429) throw fault
  }
  const following = { client, sessionId: session.id, after, until, signal: AbortSignal.any(ends), onInterruption }
  for await (const event of follow(following)) {
    sequence = event.sequence
    ended = endedRun(event) ?? ended
    const before = transcript
    transcript = extendTranscript(before, [event], ROWS_KEPT)
    for (const change of changesOf(before, transcript)) {
      const paragraph = paragraphOf(change)
      if (paragraph === '') continue
      text.add(paragraph)
      if (sequence > head) await call.progress(clip(paragraph, 500))
    }
  }
  signal.throwIfAborted()
  return news()
}

/** Returns the Run that an Event ends; null if it ends none. */
function endedRun(event: Event): EndedRun | null {
  const { runId } = event.subject
  if (runId === undefined || !isTerminalRunEvent(event)) return null
  const { result } = event.data
  const output = typeof result === 'object' && result !== null && 'output' in result ? { output: result.output } : {}
  return { runId, status: event.type.slice('svc.run.'.length), ...output }
}

/** The time that a call waits for news. It may read the existing log for longer, so that it has something to report. */
class TimeLimit implements Disposable {
  readonly #controller = new AbortController()
  readonly #timers: readonly NodeJS.Timeout[]
  #isOver = false

  constructor(seconds: number, hasRead: () => boolean) {
    const over = () => {
      this.#isOver = true
      if (hasRead()) this.#controller.abort()
    }
    const never = () => this.#controller.abort()
    this.#timers = [setTimeout(over, seconds * 1000), setTimeout(never, Math.max(seconds, READING_SECONDS) * 1000)]
  }

  get isOver(): boolean {
    return this.#isOver
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }
}

const isWaiting = async (client: BerthClient, sessionId: string, signal: AbortSignal): Promise<boolean> =>
  (await client.call('listInteractions', { sessionId }, { signal })).interactions.length > 0

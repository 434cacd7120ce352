import { followerOptions } from './call-options.ts'
import type { BerthClient } from './client.ts'
import { EventStream } from './event-stream.ts'
import type { Interruption } from './follow-options.ts'
import { parseJson } from './frames.ts'
import { reconnecting } from './reconnect.ts'

/** A Session has moved; `list`: any may have, so read the list of Sessions. */
export type SessionChange =
  | { readonly kind: 'list' }
  | { readonly kind: 'session'; readonly sessionId: string; readonly lastEventSequence: number }

export interface FollowChangesOptions {
  readonly client: BerthClient
  readonly signal?: AbortSignal | undefined
  /** Called before every reconnection; an error that it throws ends the follower. */
  readonly onInterruption?: (interruption: Interruption) => void
  /** Silence, in bytes, after which a connection counts as dead. Default 40 s. */
  readonly watchdogMs?: number
}

/**
 * Yields which of the installation's Sessions move, from now on, across every kind of broken connection. It begins with
 * `list`: whoever reads the list after that knows where every Session stood, and hears of every later change. It yields
 * `list` again whenever it cannot continue where it was. The same change may be told twice.
 *
 * It ends without an error when `signal` aborts, and waits and retries after every failure but a lasting refusal.
 *
 * @throws BerthError if the service refuses for good (400, 401, 403, 404)
 */
export function followChanges(options: FollowChangesOptions): AsyncGenerator<SessionChange, void, undefined> {
  const position: Position = { cursor: undefined, retryMs: null }
  const { platform } = options.client
  return reconnecting({ ...options, platform }, position, () => changesOfConnection(options, position))
}

interface Position {
  /** Id of the last frame; undefined before the first. */
  cursor: string | undefined
  /** Reconnection time that the last stream asked for. */
  retryMs: number | null
}

interface Frame {
  readonly id: string | undefined
  readonly change: SessionChange
}

async function* changesOfConnection(
  { client, signal, watchdogMs = 40_000 }: FollowChangesOptions,
  position: Position,
): AsyncGenerator<SessionChange, void, undefined> {
  const { cursor: lastId } = position
  const stream = await EventStream.open<Frame>({
    name: 'changes of sessions',
    open: call => {
      const input = lastId === undefined ? {} : { headers: { 'last-event-id': lastId } }
      return client.call('streamSessions', input, { ...call, ...followerOptions })
    },
    parse: parseChange,
    platform: client.platform,
    watchdogMs,
    signal,
  })
  try {
    // The first bytes say that the feed has begun: nothing that happens after them is missed.
    let begun = lastId !== undefined
    for (;;) {
      const step = await stream.next(Number.POSITIVE_INFINITY)
      if (step.kind === 'end') return
      if (step.kind === 'idle') continue
      if (!begun) yield { kind: 'list' }
      begun = true
      for (const { id, change } of step.frames) {
        yield change
        if (id !== undefined) position.cursor = id
      }
    }
  } finally {
    position.retryMs = stream.retryMs
    stream.close()
  }
}

function parseChange({ id, data }: { readonly id?: string | undefined; readonly data: string }): Frame | null {
  const value = parseJson(data)
  if (typeof value !== 'object' || value === null) return null
  if ('reset' in value) return { id, change: { kind: 'list' } }
  if (!('sessionId' in value) || !('lastEventSequence' in value)) return null
  const { sessionId, lastEventSequence } = value
  if (typeof sessionId !== 'string' || !Number.isSafeInteger(lastEventSequence)) return null
  return { id, change: { kind: 'session', sessionId, lastEventSequence: Number(lastEventSequence) } }
}

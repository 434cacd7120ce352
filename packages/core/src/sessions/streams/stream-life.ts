import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Principal } from '../../identity/guard/principal.ts'

/** How long a stream lives, and how often its credential is checked. */
export interface StreamLife {
  readonly minMs: number
  readonly maxMs: number
  /** Pause between two checks of the credential. */
  readonly authorityMs: number
  readonly random: () => number
}

/** The parts of a request that its stream needs. */
export interface StreamRequest {
  readonly principal: Principal
  readonly signal: AbortSignal
  stillAuthorized(): Promise<boolean>
}

/** Longest `retry:` of a stream that ends by itself. */
const MAX_RETRY_MS = 1_000

const encoder = new TextEncoder()

/**
 * Ends a stream at a random age, so that the clients of a deployment do not return together, when its credential
 * expires, or when a check finds its credential revoked. The first two tell the client to come back within a second.
 * The last tells it nothing: its next request does.
 * @param open starts the frames; its signal aborts when the stream must end
 */
export async function* withLife(
  open: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
  stream: StreamRequest,
  life: StreamLife,
  clock: Clock,
): AsyncGenerator<Uint8Array> {
  const { expiresAt } = stream.principal
  const end = new AbortController()
  let revoked = false
  const age = life.minMs + life.random() * (life.maxMs - life.minMs)
  const untilExpiry = expiresAt === null ? age : Math.max(0, expiresAt.getTime() - clock.now().getTime())
  const ageing = setTimeout(() => end.abort(), Math.min(age, untilExpiry))
  const checking = setInterval(() => {
    stream.stillAuthorized().then(
      stands => {
        if (stands) return
        revoked = true
        end.abort()
      },
      // A failed check is not a revocation: the next one asks again.
      () => undefined,
    )
  }, life.authorityMs)
  try {
    yield* open(AbortSignal.any([stream.signal, end.signal]))
    if (!revoked && !stream.signal.aborted) {
      yield encoder.encode(`retry: ${Math.floor(life.random() * (MAX_RETRY_MS + 1))}\n\n`)
    }
  } finally {
    clearTimeout(ageing)
    clearInterval(checking)
  }
}

import type { Principal } from '../../identity/guard/principal.ts'
import type { Clock } from '../../kit/clock.ts'

/** How long streams live (interface 4.7, 8.4). */
export interface StreamLife {
  readonly minMs: number
  readonly maxMs: number
  /** Between two looks at whether the credential still stands. */
  readonly authorityMs: number
  readonly random: () => number
}

/** What a stream was asked for with. */
export interface StreamRequest {
  readonly principal: Principal
  readonly signal: AbortSignal
  stillAuthorized(): Promise<boolean>
}

/** Longest `retry:` of a stream that ends by itself. */
const MAX_RETRY_MS = 1_000

const encoder = new TextEncoder()

/**
 * Gives a stream its end: a random age, so that clients of one deployment do not come back together; the end of its
 * credential; or the moment the credential is found revoked. The first two tell the client to come back within a second,
 * the last tells it nothing: its next request does.
 * @param open starts the frames; its signal aborts when the stream is to end
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
      // Not known is not revoked: it is asked again.
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

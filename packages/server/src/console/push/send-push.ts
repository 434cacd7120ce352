import type { Context } from '@berth/core/context.ts'
import type { Poster } from '@berth/core/webhooks/poster.ts'
import { AttemptFailed, findAddresses } from '@berth/core/webhooks/webhook-addresses.ts'
import { nameOf, readWebhookUrl, type WebhookRules } from '@berth/core/webhooks/webhook-url.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { type AnswerHeaders, retryAfterMs } from '@berth/platform/kit/retry-after.ts'
import type { Network } from '@berth/platform/network/dial.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import { encryptPush } from './encrypt.ts'
import type { PushKeys } from './push-keys.ts'
import type { Push } from './push-text.ts'
import type { Subscribed } from './subscription.ts'

/** The connection to push services. */
export interface PushSending {
  readonly masterKey: MasterKey
  readonly rules: WebhookRules
  readonly network: Network
  readonly poster: Poster
  /** From the start of an attempt, DNS included, to the end of the answer's headers. */
  readonly timeoutMs: number
}

/** The outcome of an attempt. */
export type Sent =
  | { readonly kind: 'accepted' | 'gone' | 'refused' }
  | { readonly kind: 'later'; readonly afterMs: number | null }

/**
 * Pushes a message to a browser. URL and addresses are judged anew each time.
 * @throws the reason of the signal if it aborts
 */
export async function sendPush(
  { rules, network, poster, timeoutMs }: PushSending,
  { clock, consoleUrl }: Pick<Context, 'clock' | 'consoleUrl'>,
  keys: PushKeys,
  { endpoint, ...browser }: Subscribed,
  { message, ttlSeconds, urgency, topic }: Push,
  stop: AbortSignal,
): Promise<Sent> {
  const read = readWebhookUrl(endpoint, rules)
  if (read === null) return { kind: 'refused' }
  const signal = AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)])
  try {
    const addresses = await findAddresses(read, rules, network, signal)
    const headers = {
      Authorization: await keys.authorize(read.url, contactOf(consoleUrl), clock.now()),
      'Content-Encoding': 'aes128gcm',
      'Content-Type': 'application/octet-stream',
      TTL: String(ttlSeconds),
      Topic: topic,
      Urgency: urgency,
    }
    const body = Buffer.from(await encryptPush(Buffer.from(JSON.stringify(message)), browser))
    const post = { url: read.url, servername: nameOf(read), addresses, body, headers }
    const { status, headers: answered, drained } = await poster.post(post, signal)
    await drained
    return judged(status, answered, clock)
  } catch (error) {
    stop.throwIfAborted()
    if (error instanceof AttemptFailed && error.error === 'address_refused') return { kind: 'refused' }
    if (error instanceof AttemptFailed || signal.aborted) return { kind: 'later', afterMs: null }
    throw error
  }
}

function judged(status: number, headers: AnswerHeaders, clock: Clock): Sent {
  if (status >= 200 && status < 300) return { kind: 'accepted' }
  if (status === 404 || status === 410) return { kind: 'gone' }
  if (status !== 429 && status < 500) return { kind: 'refused' }
  return { kind: 'later', afterMs: retryAfterMs(headers, clock) ?? null }
}

/** Push services want an https URL; on loopback there is none, and none of them is reached either. */
const contactOf = (consoleUrl: string): string =>
  consoleUrl.startsWith('https://') ? new URL(consoleUrl).origin : 'mailto:operator@localhost'

import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Log } from '@berth/platform/kit/log.ts'
import type { Network } from '@berth/platform/network/dial.ts'
import type { Outcome } from './delivery.ts'
import type { ClaimedDelivery } from './delivery-sql.ts'
import { type EndpointSecrets, signBody } from './endpoint-secret.ts'
import type { Poster } from './poster.ts'
import { AttemptFailed, findAddresses } from './webhook-addresses.ts'
import { nameOf, readWebhookUrl, type WebhookRules } from './webhook-url.ts'

/** The parts of an attempt. */
export interface AttemptContext {
  readonly clock: Clock
  readonly log: Log
  readonly secrets: EndpointSecrets
  readonly rules: WebhookRules
  readonly network: Network
  readonly poster: Poster
  /** From the start of an attempt, DNS included, to the end of the response's headers. */
  readonly timeoutMs: number
}

/** Lapsed claims of a delivery that cost no attempt. */
const FREE_LAPSES = 10

/**
 * Makes one attempt. Authority, URL and addresses are judged anew each time.
 * @param abort ends the attempt early; it is aborted if the attempt takes too long
 * @returns the outcome, and the end of reading the response's body; null if somebody else aborted
 */
export async function attempt(
  context: AttemptContext,
  delivery: ClaimedDelivery,
  abort: AbortController,
): Promise<{ readonly outcome: Outcome; readonly drained?: Promise<void> } | null> {
  if (!delivery.authorized) return { outcome: { error: 'authority' } }
  // Such a delivery may be what kills its processes.
  if (delivery.lapsed && delivery.lapses > FREE_LAPSES) return { outcome: { error: 'interrupted' } }
  const late = new AttemptFailed('timed_out')
  const patience = setTimeout(() => abort.abort(late), context.timeoutMs)
  try {
    const { status, drained } = await send(context, delivery, abort.signal)
    return { outcome: { status }, drained }
  } catch (thrown) {
    const error = abort.signal.aborted ? abort.signal.reason : thrown
    if (error instanceof AttemptFailed) return { outcome: { error: error.error } }
    if (abort.signal.aborted) return null
    context.log.error({ err: error, deliveryId: delivery.id }, 'an attempt to deliver a webhook failed')
    return { outcome: { error: 'internal_error' } }
  } finally {
    clearTimeout(patience)
  }
}

async function send(
  { clock, secrets, rules, network, poster }: AttemptContext,
  { endpoint_id, url: text, sealed_secret, content: body }: ClaimedDelivery,
  signal: AbortSignal,
): ReturnType<Poster['post']> {
  const read = readWebhookUrl(text, rules)
  if (read === null) throw new AttemptFailed('url_refused')
  const addresses = await findAddresses(read, rules, network, signal)
  const signature = signBody(secrets.open(endpoint_id, sealed_secret), body, clock.now())
  const headers = { 'Content-Type': 'application/json', 'Svc-Signature': signature }
  return poster.post({ url: read.url, servername: nameOf(read), addresses, body, headers }, signal)
}

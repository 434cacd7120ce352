import { isIP } from 'node:net'
import type { WebhookError } from '@berth/contract'
import type { Network } from '@berth/platform/network/dial.ts'
import type { WebhookRules, WebhookUrl } from './webhook-url.ts'

/** Thrown if an attempt ends without a response. */
export class AttemptFailed extends Error {
  override readonly name = 'AttemptFailed'
  readonly error: WebhookError

  constructor(error: WebhookError, cause?: unknown) {
    super(error, { cause })
    this.error = error
  }
}

/**
 * Resolves the host of an endpoint and judges every address. Some public and some other addresses are an attack, so one
 * bad address refuses all.
 * @throws AttemptFailed `dns_failed` or `address_refused`; the reason of the signal if it aborts
 */
export async function findAddresses(
  { host }: WebhookUrl,
  { mayDial }: WebhookRules,
  network: Network,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (host.kind === 'address') return [host.address]
  if (host.kind === 'trusted' && isIP(host.name) !== 0) return [host.name]
  const lookup = host.kind === 'trusted' ? network.lookUp(host.name) : network.resolve(host.name, signal)
  const addresses = await lookup.catch(error => {
    signal.throwIfAborted()
    throw new AttemptFailed('dns_failed', error)
  })
  if (addresses.length === 0) throw new AttemptFailed('dns_failed')
  if (host.kind !== 'trusted' && !addresses.every(mayDial)) throw new AttemptFailed('address_refused')
  return addresses
}

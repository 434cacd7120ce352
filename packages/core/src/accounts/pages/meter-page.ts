import { refuseEmptyBucket } from '../../http/guard/guard.ts'
import type { AddressMeter } from '../../identity/guard/address-meter.ts'

/**
 * Meters a request of a page by the client's address, with whatever issues tokens.
 * @throws ApiError 429 if too many came from there; MeteringFault; DatabaseUnavailable
 */
export async function meterPage(meter: Pick<AddressMeter, 'take'>, address: string): Promise<void> {
  const verdict = await meter.take(address)
  if (verdict.kind === 'limited') throw refuseEmptyBucket(verdict.metering, verdict.retryAfterSeconds)
}

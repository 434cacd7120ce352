import { createHmac, timingSafeEqual } from 'node:crypto'

const TOLERANCE_SECONDS = 300

/**
 * Checks a delivery as `docs/webhooks.md` tells receivers to, without a line of the service.
 * @param now Unix time in seconds
 */
export function isGenuine(rawBody: Buffer, header: string, secret: string, now: number): boolean {
  const match = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header)
  if (match === null) return false
  const [, t = '', v1 = ''] = match
  if (Math.abs(now - Number(t)) > TOLERANCE_SECONDS) return false
  const mac = createHmac('sha256', secret).update(t).update('.').update(rawBody).digest()
  return timingSafeEqual(mac, Buffer.from(v1, 'hex'))
}

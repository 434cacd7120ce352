import { createHmac, timingSafeEqual } from 'node:crypto'

const STEP_SECONDS = 30
/** Steps before and after the current one whose codes are taken, because clocks differ. */
const TOLERANCE = 1

/** Returns the code of a step (RFC 6238: HMAC-SHA-1, six digits). */
export function totpCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 15
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

export const totpStep = (at: Date): number => Math.floor(at.getTime() / 1000 / STEP_SECONDS)

/** Returns the step to which a code belongs; null if it is the code of none that counts now. */
export function stepOfCode(secret: Uint8Array, code: string, at: Date): number | null {
  const given = Buffer.from(code.replaceAll(/\s/g, ''))
  const now = totpStep(at)
  for (let step = now - TOLERANCE; step <= now + TOLERANCE; step++) {
    const expected = Buffer.from(totpCode(secret, step))
    if (given.length === expected.length && timingSafeEqual(given, expected)) return step
  }
  return null
}

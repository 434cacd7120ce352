import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_DIGITS = 43
/** Enough for every value of CRC-32. */
const CHECKSUM_DIGITS = 6
const HINT_CHARACTERS = 4

/** A new secret and what may be shown of it later. */
export interface MadeKey {
  readonly secret: string
  /** Its last characters. */
  readonly hint: string
}

/**
 * Makes the secret of an API key: a prefix, 43 random base62 digits, and the CRC-32 of those digits. The checksum lets
 * scanners of leaked secrets tell a key from a string that looks like one.
 */
export function makeApiKey(kind: 'cloud' | 'ai'): MadeKey {
  const random = Array.from({ length: SECRET_DIGITS }, () => digits[randomInt(digits.length)]).join('')
  const secret = `svc_${kind}_live_${random}${checksum(random)}`
  return { secret, hint: secret.slice(-HINT_CHARACTERS) }
}

function checksum(text: string): string {
  let rest = crc32(text)
  let written = ''
  for (let place = 0; place < CHECKSUM_DIGITS; place += 1) {
    written = `${digits[rest % digits.length]}${written}`
    rest = Math.floor(rest / digits.length)
  }
  return written
}

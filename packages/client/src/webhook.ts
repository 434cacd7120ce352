/** A signature further than this from now, in either direction, is refused: it may be a replay. */
const toleranceSeconds = 300
/** Far above any real header, so that a hostile one costs nothing. */
const longestHeader = 2048
const part = /^(\w+)=(.*)$/
const seconds = /^\d{1,12}$/
const hexDigest = /^[0-9a-f]{64}$/

/**
 * Why a delivery is not to be trusted: the header is not there, or has not its form; its time is more than 300 seconds
 * ago, or ahead; or no secret made it for these bytes.
 */
export type WebhookRefusal =
  | 'header_missing'
  | 'header_malformed'
  | 'timestamp_too_old'
  | 'timestamp_too_new'
  | 'signature_mismatch'

export type WebhookVerdict =
  | { readonly verified: true; readonly signedAt: Date }
  | { readonly verified: false; readonly reason: WebhookRefusal }

/**
 * Verifies the signature of a webhook delivery, in constant time. Give it the body exactly as it arrived, before any
 * parsing. Several secrets may hold at once, while one is replaced by another.
 *
 * @param header the value of `Svc-Signature`
 * @param secret from the registration of the endpoint, `whsec_…`
 * @throws TypeError without any secret, or with an empty one
 */
export async function verifyWebhook(
  rawBody: Uint8Array | string,
  header: string | null | undefined,
  secret: string | readonly string[],
  now: Date = new Date(),
): Promise<WebhookVerdict> {
  const keys = await Promise.all((typeof secret === 'string' ? [secret] : secret).map(keyOf))
  if (keys.length === 0) throw new TypeError('verifying a webhook needs a secret')
  if (header === null || header === undefined || header === '') return refused('header_missing')
  const read = readHeader(header)
  if (read === null) return refused('header_malformed')
  const ageSeconds = now.getTime() / 1000 - Number(read.timestamp)
  if (ageSeconds > toleranceSeconds) return refused('timestamp_too_old')
  if (ageSeconds < -toleranceSeconds) return refused('timestamp_too_new')
  const signed = signedBytes(read.timestamp, rawBody)
  for (const key of keys) {
    for (const signature of read.signatures) {
      // Web Crypto compares the two in constant time.
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) {
        return { verified: true, signedAt: new Date(Number(read.timestamp) * 1000) }
      }
    }
  }
  return refused('signature_mismatch')
}

/**
 * Returns the value of `Svc-Signature` for a body, as the service signs it.
 *
 * @throws TypeError for an empty secret
 */
export async function signWebhook(
  rawBody: Uint8Array | string,
  secret: string,
  now: Date = new Date(),
): Promise<string> {
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const signature = await crypto.subtle.sign('HMAC', await keyOf(secret), signedBytes(timestamp, rawBody))
  const hex = Array.from(new Uint8Array(signature), byte => byte.toString(16).padStart(2, '0')).join('')
  return `t=${timestamp},v1=${hex}`
}

const refused = (reason: WebhookRefusal): WebhookVerdict => ({ verified: false, reason })

function keyOf(secret: string): ReturnType<typeof crypto.subtle.importKey> {
  if (secret === '') throw new TypeError('a webhook secret must not be empty')
  const bytes = new TextEncoder().encode(secret)
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])
}

/** Reads `t=<seconds>,v1=<hex>`: one time, one or more signatures, and members of later versions, which are ignored. */
function readHeader(
  header: string,
): { readonly timestamp: string; readonly signatures: readonly Uint8Array<ArrayBuffer>[] } | null {
  if (header.length > longestHeader) return null
  const members = header.split(',').map(member => part.exec(member))
  const valuesOf = (name: string) => members.flatMap(member => (member?.[1] === name ? [member[2] ?? ''] : []))
  const [timestamp = '', ...more] = valuesOf('t')
  const signatures = valuesOf('v1')
  const formed = members.every(member => member !== null) && more.length === 0 && seconds.test(timestamp)
  if (!formed || signatures.length === 0 || !signatures.every(digest => hexDigest.test(digest))) return null
  return { timestamp, signatures: signatures.map(bytesOfHex) }
}

const bytesOfHex = (hex: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hex.match(/../g) ?? [], pair => Number.parseInt(pair, 16))

function signedBytes(timestamp: string, body: Uint8Array | string): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder()
  const prefix = encoder.encode(`${timestamp}.`)
  const content = typeof body === 'string' ? encoder.encode(body) : body
  const bytes = new Uint8Array(prefix.length + content.length)
  bytes.set(prefix)
  bytes.set(content, prefix.length)
  return bytes
}

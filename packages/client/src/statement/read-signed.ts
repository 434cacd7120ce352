/** A statement file, taken apart: the bytes that are signed, and by what. */
export interface Signed {
  readonly payloadType: string
  readonly payload: Uint8Array<ArrayBuffer>
  readonly keyid: string
  readonly signature: Uint8Array<ArrayBuffer>
}

const bundleType = 'application/vnd.dev.sigstore.bundle.v0.3+json'

/**
 * Takes a DSSE envelope or a Sigstore bundle apart; null if it is neither, as the service writes them. There is one way to
 * write each but for white space, so no byte of a file can be another with the same meaning.
 */
export function readSigned(file: Uint8Array | string): Signed | null {
  const value = parse(file)
  if (!isRecord(value)) return null
  if (!('mediaType' in value)) return readEnvelope(value)
  const { mediaType, verificationMaterial: material, dsseEnvelope: envelope } = value
  if (!hasOnly(value, ['mediaType', 'verificationMaterial', 'dsseEnvelope']) || mediaType !== bundleType) return null
  if (!isRecord(material) || !hasOnly(material, ['publicKey'])) return null
  const key = material['publicKey']
  if (!isRecord(key) || !hasOnly(key, ['hint']) || !isRecord(envelope)) return null
  const signed = readEnvelope(envelope)
  return signed?.keyid === key['hint'] ? signed : null
}

function readEnvelope(value: Readonly<Record<string, unknown>>): Signed | null {
  const { payload, payloadType, signatures } = value
  if (!hasOnly(value, ['payload', 'payloadType', 'signatures']) || typeof payloadType !== 'string') return null
  const [first, ...others]: readonly unknown[] = Array.isArray(signatures) ? signatures : []
  if (others.length > 0 || !isRecord(first) || !hasOnly(first, ['keyid', 'sig'])) return null
  const { keyid, sig } = first
  const bytes = fromBase64(payload)
  const signature = fromBase64(sig)
  if (typeof keyid !== 'string' || bytes === null || signature === null) return null
  return { payloadType, payload: bytes, keyid, signature }
}

/** Returns the value of a JSON text whose strings have no white space; undefined if it could be written otherwise. */
function parse(file: Uint8Array | string): unknown {
  try {
    const text =
      typeof file === 'string' ? file : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file)
    const value: unknown = JSON.parse(text)
    return JSON.stringify(value) === text.replace(/[ \t\r\n]/g, '') ? value : undefined
  } catch {
    return undefined
  }
}

/** Returns the bytes of canonical base64; null for any other text. */
export function fromBase64(text: unknown): Uint8Array<ArrayBuffer> | null {
  if (typeof text !== 'string' || text === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null
  try {
    const binary = atob(text)
    return btoa(binary) === text ? Uint8Array.from(binary, character => character.charCodeAt(0)) : null
  } catch {
    return null
  }
}

const hasOnly = (value: object, names: readonly string[]): boolean =>
  Object.keys(value).length === names.length && names.every(name => name in value)

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject, sign, verify } from 'node:crypto'
import { KeyProblem } from './key-problem.ts'
import { SshReader, withoutZeros } from './ssh-wire.ts'

/** A private key of SSH that signs by itself: neither sealed by a passphrase nor held by a device. */
export interface SshKey {
  /** Such as `ssh-ed25519`. */
  readonly type: string
  /** The public key, as SSH writes it. */
  readonly blob: Buffer
  readonly key: KeyObject
}

const MAGIC = 'openssh-key-v1\0'
const armor = /^-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END OPENSSH PRIVATE KEY-----$/
const SHORTEST_RSA = 2048

/** Sizes in bytes of the numbers of a curve, by the name that SSH gives it. */
const curves: Readonly<Record<string, readonly [crv: string, bytes: number]>> = {
  nistp256: ['P-256', 32],
  nistp384: ['P-384', 48],
  nistp521: ['P-521', 66],
}

/**
 * Reads a private key in the format that `ssh-keygen` writes.
 * @throws KeyProblem
 */
export function parseSshKey(text: string): SshKey {
  const body = armor.exec(text.trim())?.[1]
  if (body === undefined) throw new KeyProblem('is no private key as ssh-keygen writes it')
  try {
    const { type, blob, jwk } = readKey(Buffer.from(body, 'base64'))
    const key = createPrivateKey({ key: jwk, format: 'jwk' })
    requireWhole(key, jwk)
    return { type, blob, key }
  } catch (error) {
    if (error instanceof KeyProblem) throw error
    throw new KeyProblem('is damaged: copy the whole file of the key again', { cause: error })
  }
}

interface Parts {
  readonly type: string
  readonly blob: Buffer
  readonly jwk: JsonWebKey
}

function readKey(bytes: Buffer): Parts {
  if (bytes.subarray(0, MAGIC.length).toString('latin1') !== MAGIC) throw new RangeError('no magic')
  const outer = new SshReader(bytes.subarray(MAGIC.length))
  const cipher = outer.text()
  outer.string()
  outer.string()
  if (cipher !== 'none') {
    throw new KeyProblem('is sealed by a passphrase: name a key without one, which ssh-keygen -p makes of a copy')
  }
  if (outer.uint32() !== 1) throw new RangeError('not one key')
  const blob = outer.string()
  const inner = new SshReader(outer.string())
  const check = inner.uint32()
  if (inner.uint32() !== check) throw new RangeError('the checks differ')
  const type = inner.text()
  if (new SshReader(blob).text() !== type) throw new RangeError('the types differ')
  return { type, blob, jwk: readNumbers(type, inner) }
}

function readNumbers(type: string, inner: SshReader): JsonWebKey {
  if (type === 'ssh-ed25519') {
    const x = inner.string()
    return { kty: 'OKP', crv: 'Ed25519', x: url(x), d: url(inner.string().subarray(0, x.length)) }
  }
  if (type.startsWith('ecdsa-sha2-')) {
    const [crv, size] = curves[inner.text()] ?? []
    if (crv === undefined || size === undefined) throw new RangeError('no known curve')
    const point = inner.string()
    const d = Buffer.concat([Buffer.alloc(size), withoutZeros(inner.string())]).subarray(-size)
    return { kty: 'EC', crv, x: url(point.subarray(1, 1 + size)), y: url(point.subarray(1 + size)), d: url(d) }
  }
  if (type === 'ssh-rsa') {
    const [n, e, d, qi, p, q] = Array.from({ length: 6 }, () => withoutZeros(inner.string()))
    if (!n || !e || !d || !qi || !p || !q) throw new RangeError('no number')
    if (n.length * 8 < SHORTEST_RSA) throw new KeyProblem(`is an RSA key of less than ${SHORTEST_RSA} bits`)
    const [dp, dq] = [modulo(d, p), modulo(d, q)]
    return { kty: 'RSA', n: url(n), e: url(e), d: url(d), p: url(p), q: url(q), dp, dq, qi: url(qi) }
  }
  if (type.startsWith('sk-')) throw new KeyProblem('needs a device to sign with: name a key that stands by itself')
  throw new KeyProblem(`is of type ${type}, and must be of Ed25519, ECDSA or RSA`)
}

/** Requires that the private numbers belong to the public ones. */
function requireWhole(key: KeyObject, { d: _, p, q, dp, dq, qi, ...jwk }: JsonWebKey): void {
  const hash = jwk.kty === 'OKP' ? null : 'sha512'
  const text = Buffer.from('whole')
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
  if (!verify(hash, text, publicKey, sign(hash, text, key))) throw new RangeError('the halves differ')
}

const url = (bytes: Buffer): string => bytes.toString('base64url')

/** Returns `value mod (prime - 1)`. */
function modulo(value: Buffer, prime: Buffer): string {
  const rest = BigInt(`0x${value.toString('hex')}`) % (BigInt(`0x${prime.toString('hex')}`) - 1n)
  const hex = rest.toString(16)
  return url(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex'))
}

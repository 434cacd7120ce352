import {
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  KeyObject,
  type webcrypto,
} from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { fitsHost } from '@berth/platform/network/host-pattern.ts'
import type { LeaseAuthority } from '../../driver.ts'

const DAY_MS = 24 * 60 * 60_000
/** Before now, for sandboxes whose clock is late. */
const EARLY_MS = 2 * DAY_MS
/** Longer than any lease. */
const LIFE_MS = 365 * DAY_MS
/** Of a common name (RFC 5280, ub-common-name). */
const MAX_NAME = 64
const NAME_CONSTRAINTS = '2.5.29.30'
/** Hosts whose certificates are kept. A pattern names any number of them. */
const MAX_LEAVES = 100

const curve = { name: 'ECDSA', namedCurve: 'P-256' } as const
const signing = { name: 'ECDSA', hash: 'SHA-256' } as const

/**
 * Returns the certificate authority of a lease. The seed decides its key, so any process that has the seed certifies for
 * sandboxes that trust what another has made, and no key is stored.
 * It certifies the hosts that secrets name, and its certificate says so, since programs hold only that in their hands.
 * @param seed 32 bytes that nobody else has, of this lease
 * @param hosts names in lower case, or `*.name` for all names below one
 * @param now milliseconds of the clock
 */
export function openLeaseAuthority(
  seed: Uint8Array,
  leaseId: string,
  hosts: readonly string[],
  now: () => number = Date.now,
): LeaseAuthority {
  // In the form that OpenSSL compares names in: lower case, UTF-8, one attribute.
  const name = `berth sandbox ${leaseId.toLowerCase()}`.slice(0, MAX_NAME)
  let own: Promise<Issuer> | undefined
  const issuer = () => {
    own ??= issuerOf(seed, name)
    return own
  }
  const validity = () => ({ notBefore: new Date(now() - EARLY_MS), notAfter: new Date(now() + LIFE_MS) })
  const leaves = new Map<string, Promise<SecureContext>>()

  const certify = async (host: string): Promise<SecureContext> => {
    const { x509, keys, subject } = await issuer()
    const leaf = await crypto.subtle.generateKey(curve, true, ['sign', 'verify'])
    const certificate = await x509.X509CertificateGenerator.create({
      ...validity(),
      subject: 'CN=berth sandbox proxy',
      issuer: subject,
      publicKey: leaf.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: signing,
      extensions: [
        new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }]),
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey),
        await x509.SubjectKeyIdentifierExtension.create(leaf.publicKey),
      ],
    })
    const key = KeyObject.from(leaf.privateKey).export({ type: 'pkcs8', format: 'pem' })
    // Without authorities of its own, a context would load those of Node, which no server of ours asks.
    return createSecureContext({ key, cert: certificate.toString('pem'), ca: [] })
  }

  return {
    async trust() {
      const { x509, keys, subject } = await issuer()
      const certificate = await x509.X509CertificateGenerator.create({
        ...validity(),
        subject,
        issuer: subject,
        publicKey: keys.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: signing,
        extensions: [
          new x509.BasicConstraintsExtension(true, 0, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
          new x509.Extension(NAME_CONSTRAINTS, true, nameConstraints(hosts)),
          await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
        ],
      })
      return {
        certificate: `${certificate.toString('pem')}\n`,
        hash: nameHash(certificate.subjectName.toArrayBuffer()),
      }
    },
    async leafFor(host) {
      if (!hosts.some(pattern => fitsHost(host, pattern))) throw new Error(`no secret of this lease goes to ${host}`)
      const made = leaves.get(host) ?? certify(host)
      leaves.delete(host)
      leaves.set(host, made)
      const [oldest] = leaves.keys()
      if (leaves.size > MAX_LEAVES && oldest !== undefined) leaves.delete(oldest)
      made.catch(() => leaves.delete(host))
      return made
    },
  }
}

/**
 * Returns in DER (RFC 5280, 4.2.1.10) that an authority certifies these names alone, and no address. A name includes those below
 * it: no form that all programs read tells `name` from `*.name`.
 */
function nameConstraints(hosts: readonly string[]): Buffer {
  const names = new Set(hosts.map(host => host.replace(/^\*\./, '')))
  const only = [...names].map(name => der(0x30, der(0x82, Buffer.from(name))))
  const never = [8, 32].map(bytes => der(0x30, der(0x87, Buffer.alloc(bytes))))
  return der(0x30, der(0xa0, ...only), der(0xa1, ...never))
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

/**
 * Returns OpenSSL's hash of a name that is in its canonical form already: the four first bytes of a digest of the name
 * without its outer header, the last of them first.
 */
function nameHash(name: ArrayBuffer): string {
  // The header has two bytes, as long as the name has less than 128.
  const digest = createHash('sha1').update(Buffer.from(name).subarray(2)).digest()
  return digest.subarray(0, 4).reverse().toString('hex')
}

interface Issuer {
  readonly x509: typeof import('@peculiar/x509')
  readonly subject: import('@peculiar/x509').Name
  readonly keys: { readonly privateKey: webcrypto.CryptoKey; readonly publicKey: webcrypto.CryptoKey }
}

async function issuerOf(seed: Uint8Array, name: string): Promise<Issuer> {
  // Loaded only for sandboxes with such secrets; the second needs the first.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const privateKey = privateKeyOf(seed)
  return {
    x509,
    subject: new x509.Name([{ CN: [{ utf8String: name }] }]),
    keys: {
      privateKey: privateKey.toCryptoKey(curve, false, ['sign']),
      publicKey: createPublicKey(privateKey).toCryptoKey(curve, true, ['verify']),
    },
  }
}

/** Returns the private key that a seed decides. Nearly every 32 bytes are a key of this curve; a few are too large. */
function privateKeyOf(seed: Uint8Array): KeyObject {
  for (let attempt = 0; ; attempt += 1) {
    const candidate = createHmac('sha256', seed).update(`authority/${attempt}`).digest()
    const pair = createECDH('prime256v1')
    try {
      pair.setPrivateKey(candidate)
    } catch {
      continue
    }
    const point = pair.getPublicKey()
    const [x, y] = [point.toString('base64url', 1, 33), point.toString('base64url', 33)]
    const key = { kty: 'EC', crv: 'P-256', d: candidate.toString('base64url'), x, y }
    return createPrivateKey({ format: 'jwk', key })
  }
}

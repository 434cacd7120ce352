/** Seconds that an assertion is dated back, because clocks differ. */
const backdatedSeconds = 30
/** Seconds from an assertion's date to its end; the service takes at most 600. */
const lifetimeSeconds = 540

/** Signs an app's assertion at a time of the service's clock, in milliseconds since the epoch. */
export type SignAssertion = (serviceNowMs: number) => Promise<string>

/**
 * Opens the private key of an app's backend, to sign assertions with it.
 * @param app the app's slug, the issuer that assertions are for, and the key's id (default: its RFC 7638 thumbprint)
 * @throws TypeError if the key is not an Ed25519 private key in a PKCS #8 PEM
 */
export async function openAssertionKey(
  privateKeyPem: string,
  app: { readonly appSlug: string; readonly issuer: string; readonly kid: string | undefined },
): Promise<SignAssertion> {
  const base64 = /^-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----$/.exec(
    privateKeyPem.trim(),
  )?.[1]
  // The cause of a failed import may quote the key, so it is not passed on.
  const key = await importKey(base64 ?? '').catch(() => {
    throw new TypeError('privateKey must be an Ed25519 private key as PKCS #8 PEM')
  })
  const kid = app.kid ?? (await thumbprint(key))
  const head = encodeJson({ alg: 'EdDSA', kid, typ: 'JWT' })
  return async serviceNowMs => {
    const iat = Math.floor(serviceNowMs / 1000) - backdatedSeconds
    const { appSlug, issuer } = app
    const claims = { iss: appSlug, sub: appSlug, aud: issuer, iat, exp: iat + lifetimeSeconds }
    const signed = `${head}.${encodeJson(claims)}`
    const signature = await crypto.subtle.sign('Ed25519', key, new TextEncoder().encode(signed))
    return `${signed}.${encode(new Uint8Array(signature))}`
  }
}

type SigningKey = Awaited<ReturnType<typeof importKey>>

function importKey(base64: string) {
  const bytes = Uint8Array.from(atob(base64.replaceAll(/\s/g, '')), character => character.charCodeAt(0))
  return crypto.subtle.importKey('pkcs8', bytes, 'Ed25519', true, ['sign'])
}

/** Returns a key's RFC 7638 thumbprint, by which the service knows it. */
async function thumbprint(key: SigningKey): Promise<string> {
  const { x } = await crypto.subtle.exportKey('jwk', key)
  const digest = await crypto.subtle.digest(
    'SHA-256',
    new TextEncoder().encode(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`),
  )
  return encode(new Uint8Array(digest))
}

const encodeJson = (value: object): string => encode(new TextEncoder().encode(JSON.stringify(value)))

function encode(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { TokenVerifier } from '../tokens/token-verifier.ts'

/** A bearer as the guard's statements take it: their first arguments, in order. */
export interface Presented {
  readonly kind: 'cloud' | 'ai' | 'runtime' | 'installation' | 'end_user' | 'person' | 'invalid'
  readonly digest: Buffer | null
  readonly subject: string | null
  readonly membership: string | null
  readonly signIn: string | null
  readonly setup: string | null
  readonly endUser: string | null
  /** When a token ends by itself; null for a secret, whose row says it. */
  readonly expiresAt: Date | null
}

const nothing: Presented = {
  kind: 'invalid',
  digest: null,
  subject: null,
  membership: null,
  signIn: null,
  setup: null,
  endUser: null,
  expiresAt: null,
}

/** Which of the two surfaces a bearer came to. */
export type Surface = 'api' | 'gateway'

/** Secrets by prefix, with the one surface that takes each. */
const secrets = [
  { prefix: 'svc_cloud_', kind: 'cloud', surface: 'api' },
  { prefix: 'svc_ai_', kind: 'ai', surface: 'gateway' },
  { prefix: 'svc_run_', kind: 'runtime', surface: 'gateway' },
] as const

/**
 * Reads what a bearer claims to be: a secret by its prefix, a token by its signature. One that cannot hold at this surface
 * is `invalid`, and is still metered by its address.
 * @throws if the keys that verify tokens cannot be read
 */
export async function present(bearer: string, surface: Surface, tokens: TokenVerifier): Promise<Presented> {
  const secret = secrets.find(({ prefix }) => bearer.startsWith(prefix))
  if (secret !== undefined) {
    return secret.surface === surface ? { ...nothing, kind: secret.kind, digest: credentialDigest(bearer) } : nothing
  }
  const token = bearer.includes('.') ? await tokens.verify(bearer) : null
  if (token === null) return nothing
  const expiresAt = new Date(token.expiresAtMs)
  switch (token.kind) {
    case 'person':
      return {
        ...nothing,
        kind: 'person',
        subject: token.personId,
        membership: token.membershipId,
        signIn: token.signInId,
        expiresAt,
      }
    case 'installation':
      // The gateway takes both audiences, the API its own alone.
      if (surface === 'api' && token.audience !== 'svc-cloud') return nothing
      return {
        ...nothing,
        kind: 'installation',
        subject: token.installationId,
        setup: token.setupAuthorityId,
        expiresAt,
      }
    case 'end_user':
      if (surface === 'api') return nothing
      return { ...nothing, kind: 'end_user', subject: token.installationId, endUser: token.endUserId, expiresAt }
  }
}

/**
 * Whether a bearer is of a kind that opens the gateway alone, by its form: an unknown path is refused by the guard of the
 * credential that it came with.
 */
export function opensGatewayAlone(bearer: string): boolean {
  if (/^svc_(?:ai|run)_/.test(bearer)) return true
  const [, body = ''] = bearer.split('.')
  try {
    const { aud } = Object(JSON.parse(Buffer.from(body, 'base64url').toString('utf8')))
    return aud === 'svc-ai'
  } catch {
    return false
  }
}

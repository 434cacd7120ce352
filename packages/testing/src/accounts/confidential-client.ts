import { type KeyObject, randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import { Browser, pkce, type Shown } from './browser.ts'
import { CloudClient, type Tokens } from './client.ts'

/** How a confidential client names itself. */
export type Proof = { readonly secret: string } | { readonly key: KeyObject; readonly kid: string }

const accessToken = 'urn:ietf:params:oauth:token-type:access_token'

/** A back end that signs people in by the code flow, and exchanges their tokens for delegations. */
export class ConfidentialClient {
  readonly #cloud: CloudClient
  readonly id: string
  readonly redirectUri: string
  readonly #proof: Proof

  constructor(url: string, id: string, redirectUri: string, proof: Proof) {
    this.#cloud = new CloudClient(url)
    this.id = id
    this.redirectUri = redirectUri
    this.#proof = proof
  }

  authorizeUrl(challenge: string | null, changes: Record<string, string | null> = {}): string {
    const own = { client_id: this.id, redirect_uri: this.redirectUri, code_challenge: challenge }
    return this.#cloud.authorizeUrl('', { ...own, ...changes })
  }

  /** Asks the token endpoint; null in the fields removes a parameter. */
  async token(fields: Record<string, string | null>, proof: Proof | null = this.#proof) {
    const given = { ...(proof === null ? { client_id: this.id } : await this.#named(proof)), ...fields }
    const kept = Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== null)
    const basic = proof !== null && 'secret' in proof ? { authorization: this.#basic(proof.secret) } : {}
    const response = await fetch(`${this.#cloud.url}/oidc/token`, {
      method: 'POST',
      headers: basic,
      body: new URLSearchParams(kept),
    })
    const body: Record<string, unknown> = Object(await response.json())
    return { status: response.status, body, outcome: `${response.status} ${body['error'] ?? ''}`.trim() }
  }

  /** Fills the pages until the code arrives; `pages` are those that a person had to answer. */
  async authorize(
    person: { readonly email: string; readonly password: string },
    changes: Record<string, string> = {},
  ): Promise<{ code: string; verifier: string; pages: readonly Shown[] }> {
    const { verifier, challenge } = pkce()
    const browser = new Browser(this.#cloud.url)
    const pages: Shown[] = []
    let page = await browser.get(this.authorizeUrl(challenge, changes))
    while (!page.url.startsWith(this.redirectUri)) {
      pages.push(page)
      const signingIn = page.text.includes('name="password"')
      page = signingIn ? await browser.submit(page, { ...person }) : await browser.submit(page, {}, 'continue')
    }
    return { code: new URL(page.url).searchParams.get('code') ?? '', verifier, pages }
  }

  redeem(code: string, verifier: string | null, proof?: Proof | null) {
    const fields = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: this.redirectUri }
    return this.token(fields, proof)
  }

  /** Signs a person in. */
  async signIn(person: { readonly email: string; readonly password: string }): Promise<Tokens> {
    const { code, verifier } = await this.authorize(person)
    const { body, outcome } = await this.redeem(code, verifier)
    if (outcome !== '200') throw new Error(`no tokens: ${outcome} ${JSON.stringify(body)}`)
    return body as unknown as Tokens
  }

  /** Exchanges a token for a delegation. */
  delegate(subject: string, changes: Record<string, string | null> = {}) {
    return this.token({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subject,
      subject_token_type: accessToken,
      audience: 'svc-cloud',
      scope: 'svc.cloud.access',
      ...changes,
    })
  }

  /** Returns the fields by which it names itself, with one assertion. */
  names(): Promise<Record<string, string>> {
    return this.#named(this.#proof)
  }

  #basic(secret: string): string {
    return `Basic ${Buffer.from(`${this.id}:${encodeURIComponent(secret)}`).toString('base64')}`
  }

  async #named(proof: Proof): Promise<Record<string, string>> {
    if ('secret' in proof) return {}
    const assertion = await new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: 'EdDSA', kid: proof.kid })
      .setIssuer(this.id)
      .setSubject(this.id)
      .setAudience(`${this.#cloud.url}/oidc`)
      .setIssuedAt()
      .setExpirationTime('60s')
      .sign(proof.key)
    return {
      client_id: this.id,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    }
  }
}

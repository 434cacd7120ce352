import { randomBytes } from 'node:crypto'
import { Browser, pkce, type Shown } from './browser.ts'

export const redirectUri = 'http://127.0.0.1:39121/callback'

/** The tokens of a sign-in. */
export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly id_token: string
  readonly expires_in: number
}

/** A program on a person's machine that signs them in, as `svc-cloud`. */
export class CloudClient {
  readonly url: string

  constructor(url: string) {
    this.url = url
  }

  /** The address that begins a sign-in; null removes a parameter. */
  authorizeUrl(challenge: string, changes: Record<string, string | null> = {}): string {
    const given: Record<string, string | null> = {
      client_id: 'svc-cloud',
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid svc.cloud.access',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state: randomBytes(8).toString('hex'),
      ...changes,
    }
    const kept = Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== null)
    return `${this.url}/oidc/auth?${new URLSearchParams(kept)}`
  }

  async token(fields: Record<string, string>): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${this.url}/oidc/token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'svc-cloud', ...fields }),
    })
    return { status: response.status, body: Object(await response.json()) }
  }

  refresh(token: string): Promise<{ status: number; body: Record<string, unknown> }> {
    return this.token({ grant_type: 'refresh_token', refresh_token: token })
  }

  exchange(code: string, verifier: string): Promise<{ status: number; body: Record<string, unknown> }> {
    return this.token({ grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri })
  }

  /** Fills the pages until the code arrives. */
  async authorize(
    person: { readonly email: string; readonly password: string },
    changes: Record<string, string | null> = {},
    browser = new Browser(this.url),
  ): Promise<{ code: string; verifier: string; browser: Browser; landed: Shown }> {
    const { verifier, challenge } = pkce()
    let page = await browser.get(this.authorizeUrl(challenge, changes))
    if (page.text.includes('name="password"')) page = await browser.submit(page, { ...person })
    const landed = await browser.submit(page, {}, 'continue')
    return { code: codeOf(landed), verifier, browser, landed }
  }

  /** Signs a person in. */
  async signIn(
    person: { readonly email: string; readonly password: string },
    changes: Record<string, string | null> = {},
    inBrowser?: Browser,
  ): Promise<{ tokens: Tokens; browser: Browser }> {
    const { code, verifier, browser } = await this.authorize(person, changes, inBrowser)
    const { status, body } = await this.exchange(code, verifier)
    if (status !== 200) throw new Error(`no tokens: ${status} ${JSON.stringify(body)}`)
    return { tokens: body as unknown as Tokens, browser }
  }
}

/** Returns the code with which the service redirected to the client. */
export function codeOf({ url, text }: Shown): string {
  const code = url.startsWith(redirectUri) ? new URL(url).searchParams.get('code') : null
  if (code === null) throw new Error(`no code: ${url}\n${text}`)
  return code
}

/** Scope and prompt of a sign-in that outlives the browser's session. */
export const lasting = { scope: 'openid offline_access svc.cloud.access', prompt: 'consent' }

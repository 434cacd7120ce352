import { setTimeout as sleep } from 'node:timers/promises'
import { authUrl } from './app.ts'

/** Calls an operation of the account service as the person who signed in. */
export type CallAsPerson = (method: string, path: string, body?: object) => Promise<Response>

/** Signs a person in with the device grant (RFC 8628): it shows a code, which the person enters in a browser. */
export async function signIn(): Promise<CallAsPerson> {
  const grant = await postForm('/oidc/device/auth', { scope: 'openid' })
  console.info(`Open ${grant['verification_uri']} and enter the code ${grant['user_code']}`)
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  for (;;) {
    await sleep(Number(grant['interval'] ?? 5) * 1000)
    const answer = await postForm('/oidc/token', { grant_type, device_code: String(grant['device_code']) })
    if (typeof answer['access_token'] === 'string') return callWith(answer['access_token'])
    const { error } = answer
    if (error !== 'authorization_pending' && error !== 'slow_down') throw new Error(`nobody signed in: ${error}`)
  }
}

function callWith(token: string): CallAsPerson {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return (method, path, body) =>
    fetch(authUrl + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
}

async function postForm(path: string, fields: Record<string, string>): Promise<Record<string, unknown>> {
  const body = new URLSearchParams({ client_id: 'svc-cloud', ...fields })
  return Object(await (await fetch(authUrl + path, { method: 'POST', body })).json())
}

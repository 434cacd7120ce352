import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from '@berth/contract'

/** Calls the API as JSON; throws for a refusal. An answer without a body is an empty object. */
export type Call = <Body>(
  method: string,
  path: string,
  body?: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<Body>

/** Returns the caller of a service with an API key. */
export function callerOf(url: string, apiKey: string): Call {
  return async <Body>(method: string, path: string, body?: object, headers = {}) => {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (answer.status === 204 ? {} : await answer.json()) as Body
  }
}

/** Waits until nothing of a Session's last Turn is under way any more; its workspace is sealed then. */
export async function untilIdle(call: Call, sessionId: string): Promise<void> {
  while ((await call<{ session: Session }>('GET', `/v1/sessions/${sessionId}`)).session.phase !== 'idle')
    await sleep(10)
}

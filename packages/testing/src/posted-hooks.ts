import { createHmac } from 'node:crypto'
import type { HookAnswer } from '@berth/contract'
import { mustConform } from './api/conformance.ts'

const hex = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex')

/** How each system signs a body, at a time in seconds. */
export const signing = {
  svc: (secret: string, body: string, at: number) => ({
    'svc-signature': `t=${at},v1=${hex(secret, `${at}.${body}`)}`,
  }),
  github: (secret: string, body: string) => ({ 'x-hub-signature-256': `sha256=${hex(secret, body)}` }),
  slack: (secret: string, body: string, at: number) => ({
    'x-slack-request-timestamp': String(at),
    'x-slack-signature': `v0=${hex(secret, `v0:${at}:${body}`)}`,
  }),
  linear: (secret: string, body: string) => ({ 'linear-signature': hex(secret, body) }),
} as const

export interface PostedAnswer {
  readonly status: number
  readonly body: HookAnswer & {
    readonly error?: string
    readonly issues?: readonly { path: unknown; message: string }[]
  }
  readonly headers: Headers
}

/** Posts to a hook as another system does, without a bearer. The answer must conform to the contract. */
export async function postHook(url: string, body: string, headers: Record<string, string>): Promise<PostedAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  const answered = await response.json()
  mustConform({ method: 'POST', path: new URL(url).pathname, status: response.status, body: answered })
  return { status: response.status, body: answered as PostedAnswer['body'], headers: response.headers }
}

/** The present time as senders write it. */
export const nowSeconds = (): number => Math.floor(Date.now() / 1000)

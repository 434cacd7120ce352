import { createHmac, timingSafeEqual } from 'node:crypto'
import type { TriggerHook } from '@berth/contract'
import { fieldAt } from './payload-field.ts'

export type HookScheme = TriggerHook['scheme']
export type HookHeaders = Readonly<Record<string, string | string[] | undefined>>

/** How far a signature's time may be from now, in either direction. */
const TOLERANCE_MS = 300_000

/** A signature, as the headers of its sender tell it. */
interface Claimed {
  /** The signature that it sent; 32 bytes. */
  readonly signature: Buffer
  /** The text that it signed before the body. */
  readonly prefix: string
  /** When it signed, in milliseconds; null if that stands in the body, or nowhere. */
  readonly at: number | null
}

/** Where a delivery's key stands unless the trigger says otherwise. */
export const usualKeys: Readonly<Record<HookScheme, NonNullable<TriggerHook['key']>>> = {
  svc: { header: 'svc-delivery' },
  github: { header: 'x-github-delivery' },
  slack: { field: 'event_id' },
  linear: { header: 'linear-delivery' },
}

const schemes: Readonly<Record<HookScheme, (headers: HookHeaders) => Claimed | null>> = {
  svc: headers => {
    const [, seconds, digest] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(headerOf(headers, 'svc-signature')) ?? []
    return claimed(digest, `${seconds}.`, Number(seconds) * 1000)
  },
  github: headers => {
    const [, digest] = /^sha256=([0-9a-f]{64})$/.exec(headerOf(headers, 'x-hub-signature-256')) ?? []
    return claimed(digest, '', null)
  },
  slack: headers => {
    const [, digest] = /^v0=([0-9a-f]{64})$/.exec(headerOf(headers, 'x-slack-signature')) ?? []
    const [seconds] = /^\d{1,12}$/.exec(headerOf(headers, 'x-slack-request-timestamp')) ?? []
    return seconds === undefined ? null : claimed(digest, `v0:${seconds}:`, Number(seconds) * 1000)
  },
  linear: headers => {
    const [digest] = /^[0-9a-f]{64}$/.exec(headerOf(headers, 'linear-signature')) ?? []
    return claimed(digest, '', null)
  },
}

/**
 * Verifies the signature of a body, in constant time, by any of the secrets.
 * @returns the signature; null if there is none that holds, or it was made more than five minutes from now
 */
export function verifySignature(
  scheme: HookScheme,
  secrets: readonly string[],
  { headers, bytes }: { readonly headers: HookHeaders; readonly bytes: Buffer },
  now: Date,
): Buffer | null {
  const sent = schemes[scheme](headers)
  const holds = secrets.reduce((before, secret) => {
    const made = createHmac('sha256', secret)
      .update(sent?.prefix ?? '')
      .update(bytes)
      .digest()
    return (sent !== null && timingSafeEqual(made, sent.signature)) || before
  }, false)
  if (sent === null || !holds) return null
  return sent.at === null || isNow(sent.at, now) ? sent.signature : null
}

/** Returns whether the time that a verified body itself names, if its scheme has one there, is now. */
export function isTimely(scheme: HookScheme, body: unknown, now: Date): boolean {
  if (scheme !== 'linear') return true
  const at = fieldAt(body, 'webhookTimestamp')
  return typeof at === 'number' && isNow(at, now)
}

/**
 * Returns whether a repeated signature is a replay. Where neither key nor time are signed, whoever saw one delivery could
 * send it again under other keys for good.
 */
export const bindsSignature = (scheme: HookScheme): boolean => scheme === 'github' || scheme === 'linear'

const isNow = (at: number, now: Date): boolean => Math.abs(now.getTime() - at) <= TOLERANCE_MS

const claimed = (digest: string | undefined, prefix: string, at: number | null): Claimed | null =>
  digest === undefined ? null : { signature: Buffer.from(digest, 'hex'), prefix, at }

/** Returns the value of a header; nothing if it is missing or was sent twice. */
export function headerOf(headers: HookHeaders, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

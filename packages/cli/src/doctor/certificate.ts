import { connect } from 'node:tls'
import type { Finding } from './finding.ts'

const DAY_MS = 86_400_000
/** A certificate that is renewed by a program is renewed earlier than this. */
const SOON_DAYS = 14
const ANSWER_MS = 10_000

/** Checks the certificate of an https URL as a client would, and how long it lasts; null for other URLs. */
export async function examineCertificate(url: string, nowMs: number): Promise<Finding | null> {
  const { protocol, hostname, port } = new URL(url)
  if (protocol !== 'https:') return null
  const host = hostname.replace(/^\[|\]$/g, '')
  const socket = connect({ host, port: Number(port) || 443, servername: host, rejectUnauthorized: false })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.setTimeout(ANSWER_MS, () => reject(new Error('no answer')))
  socket.once('secureConnect', resolve).once('error', reject)
  try {
    await promise
    return judge(host, socket.authorizationError, socket.getPeerCertificate().valid_to, nowMs)
  } catch (error) {
    const detail = `${host} does not speak TLS: ${error instanceof Error ? error.message : String(error)}`
    return { check: 'certificate', state: 'failure', detail, next: `openssl s_client -connect ${host}:${port || 443}` }
  } finally {
    socket.destroy()
  }
}

/**
 * Judges a certificate.
 * @param distrust the reason why TLS does not accept it, as a code or an error
 * @param validTo its end, as OpenSSL writes it
 */
export function judge(host: string, distrust: Error | string | null, validTo: string, nowMs: number): Finding {
  const check = 'certificate'
  const renew = 'renew the certificate at the proxy that ends TLS'
  const left = Math.floor((Date.parse(validTo) - nowMs) / DAY_MS)
  if (left < 0) return { check, state: 'failure', detail: `that of ${host} ended on ${validTo}`, next: renew }
  // Its type says an error, its value is a code.
  if (distrust) {
    const reason = distrust instanceof Error ? distrust.message : distrust
    const next = 'NODE_EXTRA_CA_CERTS=<file of your authority> berth doctor'
    return { check, state: 'failure', detail: `that of ${host} is not trusted: ${reason}`, next }
  }
  const detail = `that of ${host} lasts until ${validTo}, ${left} days`
  if (left < SOON_DAYS) return { check, state: 'warning', detail, next: renew }
  return { check, state: 'ok', detail, next: null }
}

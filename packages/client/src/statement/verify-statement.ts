import type { Statement, StatementKey } from '../generated/types.ts'
import { readSigned, type Signed } from './read-signed.ts'
import { readStatement } from './statement-content.ts'
import { findStatementKey } from './statement-key.ts'

/**
 * Why a statement does not count:
 *
 * - `not_a_statement`: the file is no DSSE envelope and no Sigstore bundle, as a service writes them.
 * - `key_unknown`: no key of the set has the id. `keys_unusable`: the set, or that key, is damaged.
 * - `key_revoked`: the operator has taken the key back; its statements may have any date.
 * - `signature_mismatch`: the key has not signed these bytes.
 * - `outside_key_time`: the statement names a time at which the key did not sign.
 * - `type_unknown`: it is signed, and is no statement on an agent's change.
 * - `content_unusable`: it is signed, and lacks a member or contradicts itself.
 * - `subject_mismatch`: it is on another commit or another tree.
 */
export type StatementRefusal =
  | 'not_a_statement'
  | 'key_unknown'
  | 'keys_unusable'
  | 'key_revoked'
  | 'signature_mismatch'
  | 'outside_key_time'
  | 'type_unknown'
  | 'content_unusable'
  | 'subject_mismatch'

export type StatementVerdict =
  | { readonly verified: true; readonly statement: Statement; readonly key: StatementKey }
  | { readonly verified: false; readonly reason: StatementRefusal; readonly detail: string }

/** What the caller has in hand, which the statement has to be on; absent: it is on whatever it names. */
export interface StatementSubject {
  readonly commit?: string
  readonly tree?: string
}

/** A clock may be corrected between the choice of a key and the signature. */
const SLACK_SECONDS = 300

/**
 * Verifies a signed statement without asking anybody: its signature by a key of the set, what it is on, and that it says
 * what such a statement has to say. Only `verified: true` means that its content may be read.
 *
 * @param file a DSSE envelope or a Sigstore bundle, as it arrived
 * @param keySet what `getStatementKeys` has answered, parsed
 */
export async function verifyStatement(
  file: Uint8Array | string,
  keySet: unknown,
  subject: StatementSubject = {},
): Promise<StatementVerdict> {
  const signed = readSigned(file)
  if (signed === null) return refused('not_a_statement', 'the file is no signed statement, or it was changed')
  let key: StatementKey | null
  try {
    key = await findStatementKey(keySet, signed.keyid)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return refused('keys_unusable', error.message)
  }
  if (key === null) return refused('key_unknown', `none of the keys is ${signed.keyid}, which the statement names`)
  if (!(await isSignedBy(key, signed))) {
    return refused('signature_mismatch', `the key ${key.kid} has not signed this: it was changed since, or forged`)
  }
  if (key.revoked !== undefined) {
    const at = dateOf(key.revoked.revoked_at)
    return refused('key_revoked', `the key ${key.kid} was revoked at ${at}: nothing that it has signed counts`)
  }
  return judge(signed, key, subject)
}

function judge(signed: Signed, key: StatementKey, { commit, tree }: StatementSubject): StatementVerdict {
  const read = readStatement(signed)
  if ('reason' in read) return refused(read.reason, read.detail)
  const { statement, subject } = read
  const signedAt = Date.parse(statement.predicate.signedAt) / 1000
  if (signedAt < key.nbf - SLACK_SECONDS || signedAt > key.exp + SLACK_SECONDS) {
    const when = `the statement names ${statement.predicate.signedAt}`
    return refused('outside_key_time', `${when}, and its key signed from ${dateOf(key.nbf)} to ${dateOf(key.exp)}`)
  }
  if (commit !== undefined && commit !== subject.commit) {
    return refused('subject_mismatch', `the statement is on commit ${subject.commit}, not on ${commit}`)
  }
  if (tree !== undefined && tree !== subject.tree) {
    return refused('subject_mismatch', `the statement is on tree ${subject.tree}, and the commit has tree ${tree}`)
  }
  return { verified: true, statement, key }
}

async function isSignedBy({ x }: StatementKey, { payloadType, payload, signature }: Signed): Promise<boolean> {
  const type = new TextEncoder().encode(payloadType)
  const head = new TextEncoder().encode(`DSSEv1 ${type.length} ${payloadType} ${payload.length} `)
  const bytes = new Uint8Array(head.length + payload.length)
  bytes.set(head)
  bytes.set(payload, head.length)
  try {
    const key = await crypto.subtle.importKey('jwk', { kty: 'OKP', crv: 'Ed25519', x }, 'Ed25519', false, ['verify'])
    return await crypto.subtle.verify('Ed25519', key, signature, bytes)
  } catch (error) {
    // A key that Web Crypto refuses has signed nothing.
    if (error instanceof DOMException) return false
    throw error
  }
}

const refused = (reason: StatementRefusal, detail: string): StatementVerdict => ({ verified: false, reason, detail })

/** Returns a time in ISO 8601; a number that is none as it stands. */
function dateOf(seconds: number): string {
  const at = new Date(seconds * 1000)
  return Number.isNaN(at.getTime()) ? String(seconds) : at.toISOString()
}

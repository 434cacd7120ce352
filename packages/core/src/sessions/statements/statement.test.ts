import { createPublicKey, randomBytes } from 'node:crypto'
import { verifyStatement } from '@berth/client'
import { type Statement, type StatementKeySet, statementTypes } from '@berth/contract'
import { MasterKey, UnsealError } from '@berth/platform/storage/master-key.ts'
import { bundleFromJSON } from '@sigstore/bundle'
import { type TrustMaterial, toSignedEntity, Verifier } from '@sigstore/verify'
import { expect, test } from 'vitest'
import { signStatement, toBundle } from './envelope.ts'
import { makeStatementKey, openStatementKey, type StatementKeyRow, toStatementKey } from './statement-key.ts'

const signs_from = new Date('2026-01-01T00:00:00Z')
const signs_until = new Date('2026-01-31T00:00:00Z')
const commit = 'a'.repeat(40)
const tree = 'b'.repeat(40)
const statement: Statement = {
  _type: statementTypes.statement,
  subject: [
    { name: 'o/r@main', digest: { gitCommit: commit } },
    { name: 'o/r@main^{tree}', digest: { gitTree: tree } },
  ],
  predicateType: statementTypes.predicate,
  predicate: {
    signedAt: '2026-01-02T00:00:00.000Z',
    session: { id: 's' },
    publication: { id: 'p', revision: 'r' },
    runs: [],
    runtimes: [],
    models: [],
    cost: { usd: 0, complete: true },
    environment: { id: 'e', revision: 1, digest: { sha256: 'd' } },
    verification: { id: 'v', checks: [{ name: 'tests', required: true, state: 'passed', exitCode: 0 }] },
    approvals: [],
    log: { first: 1, last: 2 },
  },
}

const masterKey = new MasterKey(randomBytes(32))
const made = await makeStatementKey(masterKey)
const row: StatementKeyRow = { ...made, signs_from, signs_until, revoked_at: null }
const signer = openStatementKey(masterKey, made.kid, made.sealed_private)
const other = await makeStatementKey(masterKey)
const keys: StatementKeySet = { keys: [toStatementKey({ ...row, ...other }), toStatementKey(row)] }
const envelope = signStatement(statement, signer)

/** Returns how a file, or the changed statement, is judged. */
async function reasonOf(file: object | string | Uint8Array, keySet: unknown = keys, subject = {}): Promise<string> {
  const isText = typeof file === 'string' || file instanceof Uint8Array
  const verdict = await verifyStatement(isText ? file : JSON.stringify(file), keySet, subject)
  return verdict.verified ? 'verified' : verdict.reason
}

const changed = (change: object): object => signStatement({ ...statement, ...change } as Statement, signer)
const withPredicate = (change: object): object => changed({ predicate: { ...statement.predicate, ...change } })

test('a statement is verified as an envelope and as a bundle, by the key that signed it among others', async () => {
  expect(await verifyStatement(JSON.stringify(envelope), keys, { commit, tree })).toMatchObject({
    verified: true,
    statement,
    key: { kid: made.kid },
  })
  for (const file of [envelope, toBundle(envelope), JSON.stringify(envelope, null, 2)]) {
    expect(await reasonOf(file)).toBe('verified')
  }
})

test.each([
  ['an envelope', Buffer.from(JSON.stringify(envelope))],
  ['a bundle', Buffer.from(JSON.stringify(toBundle(envelope)))],
])('no byte of %s can be another', async (_, file) => {
  for (const [at, byte] of file.entries()) {
    for (const other of [byte ^ 1, byte ^ 0x20, byte ^ 0x80]) {
      const forged = Buffer.from(file)
      forged[at] = other
      const reason = await reasonOf(forged)
      if (reason === 'verified') throw new Error(`byte ${at} may be ${other} in place of ${byte}`)
    }
  }
})

test('no byte of the key that signed can be another', async () => {
  const file = Buffer.from(JSON.stringify({ keys: [toStatementKey(row)] }))
  const from = file.indexOf('"x":"') + 5
  for (let at = from; at < from + 43; at++) {
    for (const bit of [1, 2, 4, 8]) {
      const forged = Buffer.from(file)
      forged[at] = (file[at] ?? 0) ^ bit
      const text = forged.toString('latin1')
      if (!text.includes('\\')) expect(await reasonOf(envelope, JSON.parse(text))).toBe('keys_unusable')
    }
  }
})

test.each([
  ['text that is no JSON', 'statement', 'not_a_statement'],
  ['JSON of another kind', '[]', 'not_a_statement'],
  ['a member twice', JSON.stringify(envelope).replace('{', '{"payload":"e30=",'), 'not_a_statement'],
  ['a further member', { ...envelope, more: 1 }, 'not_a_statement'],
  [
    'a second signature',
    { ...envelope, signatures: [...envelope.signatures, ...envelope.signatures] },
    'not_a_statement',
  ],
  ['a bundle whose hint is of another key', toBundle({ ...envelope, signatures: [] }), 'not_a_statement'],
  [
    'another key under its id',
    signStatement(statement, { ...openStatementKey(masterKey, other.kid, other.sealed_private), kid: made.kid }),
    'signature_mismatch',
  ],
  ['a key that nobody published', signStatement(statement, { ...signer, kid: 'unknown' }), 'key_unknown'],
  ['another type of statement', changed({ predicateType: 'https://slsa.dev/provenance/v1' }), 'type_unknown'],
  ['no tree', changed({ subject: statement.subject.slice(0, 1) }), 'content_unusable'],
  ['two commits', changed({ subject: [...statement.subject, statement.subject[0]] }), 'content_unusable'],
  ['no predicate', changed({ predicate: null }), 'content_unusable'],
  ['no checks', withPredicate({ verification: { id: 'v' } }), 'content_unusable'],
  [
    'a required check that failed',
    withPredicate({ verification: { id: 'v', checks: [{ name: 'a', required: true, state: 'failed' }] } }),
    'content_unusable',
  ],
  [
    'a check that failed and may',
    withPredicate({ verification: { id: 'v', checks: [{ name: 'a', required: false, state: 'failed' }] } }),
    'verified',
  ],
  ['a time before its key', withPredicate({ signedAt: '2025-12-31T23:00:00.000Z' }), 'outside_key_time'],
  ['a time behind its key', withPredicate({ signedAt: '2026-02-01T00:00:00.000Z' }), 'outside_key_time'],
] as const)('a statement with %s is judged as such', async (_, file, reason) => {
  expect(await reasonOf(file)).toBe(reason)
})

test('a statement of another commit, or by a key that was taken back, does not count', async () => {
  expect(await reasonOf(envelope, keys, { commit: tree })).toBe('subject_mismatch')
  expect(await reasonOf(envelope, keys, { commit, tree: commit })).toBe('subject_mismatch')
  const revoked = { keys: [toStatementKey({ ...row, revoked_at: new Date('2027-01-01') })] }
  expect(await verifyStatement(JSON.stringify(envelope), revoked)).toEqual({
    verified: false,
    reason: 'key_revoked',
    detail: `the key ${made.kid} was revoked at 2027-01-01T00:00:00.000Z: nothing that it has signed counts`,
  })
  expect(await reasonOf(envelope, { keys: [{ ...toStatementKey(row), kty: 'RSA' }] })).toBe('keys_unusable')
  expect(await reasonOf(envelope, [])).toBe('keys_unusable')
})

test('the private half is sealed for its key alone', () => {
  expect(made.sealed_private.includes(Buffer.from(made.public_jwk.x, 'base64url'))).toBe(false)
  expect(() => openStatementKey(masterKey, other.kid, made.sealed_private)).toThrow(UnsealError)
  expect(() => openStatementKey(new MasterKey(randomBytes(32)), made.kid, made.sealed_private)).toThrow(UnsealError)
})

test("Sigstore's own verifier takes the bundle without logs and timestamps, and no changed one", () => {
  const trust: TrustMaterial = {
    certificateAuthorities: [],
    timestampAuthorities: [],
    tlogs: [],
    ctlogs: [],
    publicKey: hint => ({
      publicKey: createPublicKey({ key: { ...(hint === other.kid ? other : made).public_jwk }, format: 'jwk' }),
      validFor: () => true,
    }),
  }
  const verifier = new Verifier(trust, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 })
  const verify = (bundle: object) => verifier.verify(toSignedEntity(bundleFromJSON(bundle)))
  expect(verify(toBundle(envelope))).toMatchObject({ key: expect.anything() })
  const { payload, signatures } = envelope
  expect(() => verify(toBundle({ ...envelope, payload: payload.replace('e', 'f') }))).toThrow(
    'signature verification failed',
  )
  const [signature = { keyid: '', sig: '' }] = signatures
  expect(() => verify(toBundle({ ...envelope, signatures: [{ ...signature, keyid: other.kid }] }))).toThrow(
    'signature verification failed',
  )
})

import { sign } from 'node:crypto'
import { type SignedStatement, type SigstoreBundle, type Statement, statementTypes } from '@berth/contract'
import type { StatementSigner } from './statement-key.ts'

/** Signs a statement as DSSE describes it. */
export function signStatement(statement: Statement, { kid, privateKey }: StatementSigner): SignedStatement {
  const payload = Buffer.from(JSON.stringify(statement))
  const { payload: payloadType } = statementTypes
  const sig = sign(null, preAuthEncoding(payloadType, payload), privateKey).toString('base64')
  return { payload: payload.toString('base64'), payloadType, signatures: [{ keyid: kid, sig }] }
}

/** Returns the bytes that a signature is of (DSSE's PAE). */
const preAuthEncoding = (type: string, payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `), payload])

/** Returns an envelope as a Sigstore bundle: its key is known by a hint, and it is in no log of Sigstore's. */
export function toBundle(envelope: SignedStatement): SigstoreBundle {
  const hint = envelope.signatures[0]?.keyid ?? ''
  return {
    mediaType: statementTypes.bundle,
    verificationMaterial: { publicKey: { hint } },
    dsseEnvelope: envelope,
  }
}

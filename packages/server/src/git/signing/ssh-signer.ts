import { createHash, sign } from 'node:crypto'
import type { CommitSigner } from '../git-identity.ts'
import { parseSshKey, type SshKey } from './ssh-key.ts'
import { mpint, string, uint32 } from './ssh-wire.ts'

const PREAMBLE = Buffer.from('SSHSIG')
/** The namespace in which git makes and verifies signatures of SSH. */
const NAMESPACE = string('git')
const HASH = 'sha512'

/**
 * Opens a signer by a private key of SSH. Its signatures are those of `ssh-keygen -Y sign`, in the format of OpenSSH's
 * PROTOCOL.sshsig, so git verifies them with `gpg.format=ssh`.
 * @throws KeyProblem
 */
export function openSshSigner(text: string): CommitSigner {
  const key = parseSshKey(text)
  return {
    publicKey: `${key.type} ${key.blob.toString('base64')}`,
    sign(payload) {
      const about = [NAMESPACE, string(''), string(HASH)]
      const signed = Buffer.concat([PREAMBLE, ...about, string(createHash(HASH).update(payload).digest())])
      const blob = Buffer.concat([PREAMBLE, uint32(1), string(key.blob), ...about, string(signatureOf(key, signed))])
      const lines = blob.toString('base64').match(/.{1,70}/g) ?? []
      return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----'].join('\n')
    },
  }
}

const curveHashes: Readonly<Record<string, string>> = {
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
}

function signatureOf({ type, key }: SshKey, data: Buffer): Buffer {
  if (type === 'ssh-rsa') return Buffer.concat([string('rsa-sha2-512'), string(sign('sha512', data, key))])
  const hash = curveHashes[type]
  if (hash === undefined) return Buffer.concat([string(type), string(sign(null, data, key))])
  const both = sign(hash, data, { key, dsaEncoding: 'ieee-p1363' })
  const half = both.length / 2
  return Buffer.concat([
    string(type),
    string(Buffer.concat([mpint(both.subarray(0, half)), mpint(both.subarray(half))])),
  ])
}

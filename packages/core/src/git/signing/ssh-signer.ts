import { ProgramError } from '@berth/sandboxes/linux/run-program.ts'
import type { CommitSigner } from '../git-identity.ts'
import { KeyProblem } from './key-problem.ts'
import { runWithKey } from './run-with-key.ts'

const SHORTEST_RSA = 2048

/** The public key lies beside the private one because not every form of that holds it in the open. */
const begin = 'ssh-keygen -y -P "" -f "$dir/key" >"$dir/key.pub"'
const sign = 'ssh-keygen -q -Y sign -n git -f "$dir/key"'
/** Prints the public key and its length in bits, and signs once, because only that shows a damaged key. */
const open = [
  begin,
  'cat "$dir/key.pub"',
  'ssh-keygen -l -f "$dir/key.pub"',
  `echo whole | ${sign} >"$dir/signature"`,
  'echo whole | ssh-keygen -q -Y check-novalidate -n git -s "$dir/signature" >&2',
]

/**
 * Opens a signer by a private key of SSH, in a form that `ssh-keygen` reads. git verifies its signatures with
 * `gpg.format=ssh`.
 * @throws KeyProblem
 */
export async function openSshSigner(key: string): Promise<CommitSigner> {
  const [publicKey = '', fingerprint = ''] = (await opened(key)).split('\n')
  const [type, blob] = publicKey.split(' ')
  if (type === 'ssh-rsa' && Number.parseInt(fingerprint, 10) < SHORTEST_RSA) {
    throw new KeyProblem(`is an RSA key of less than ${SHORTEST_RSA} bits`)
  }
  return { publicKey: `${type} ${blob}`, sign: text => runWithKey(key, [begin, sign], text) }
}

async function opened(key: string): Promise<string> {
  try {
    return await runWithKey(key, open, '')
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    throw new KeyProblem(meaningOf(error.stderr), { cause: error })
  }
}

function meaningOf(message: string): string {
  if (/incorrect passphrase/.test(message)) {
    return 'is sealed by a passphrase: name a key without one, which ssh-keygen -p makes of a copy'
  }
  if (/invalid format|error in libcrypto|incorrect signature|invalid argument|incomplete message/.test(message)) {
    return 'is damaged: copy the whole file of the key again'
  }
  return `does not sign: ${message.slice(0, 200)}`
}

import { ProgramError } from '@berth/sandboxes/linux/run-program.ts'
import type { CommitSigner } from '../git-identity.ts'
import { KeyProblem } from './key-problem.ts'
import { runWithKey } from './run-with-key.ts'

/** Without a passphrase, so that gpg asks nobody for one. */
const gpg = 'gpg --batch --quiet --pinentry-mode loopback --passphrase ""'
const begin = ['export GNUPGHOME="$dir"', `${gpg} --import "$dir/key"`]
const sign = `${gpg} --armor --detach-sign`
const open = [
  `${gpg} --armor --export`,
  `echo whole | ${sign} >"$dir/signature"`,
  `echo whole | ${gpg} --verify "$dir/signature" - >&2`,
]
/** Ends the agent that gpg has started. */
const end = ['gpgconf --kill all', 'gpgconf --remove-socketdir 2>/dev/null || :']

/**
 * Opens a signer by a private key of OpenPGP, as `gpg --armor --export-secret-keys` writes it.
 * @throws KeyProblem
 */
export async function openOpenPgpSigner(key: string): Promise<CommitSigner> {
  try {
    const publicKey = await runWithKey(key, [...begin, ...open], '', end)
    return { publicKey: publicKey.trim(), sign: text => runWithKey(key, [...begin, sign], text, end) }
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    const { stderr } = error
    const problem = /(bad|no) passphrase/i.test(stderr)
      ? 'is sealed by a passphrase: name a key without one'
      : `does not sign: ${stderr.slice(0, 200)}`
    throw new KeyProblem(problem, { cause: error })
  }
}

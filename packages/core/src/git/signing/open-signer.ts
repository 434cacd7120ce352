import { StartError } from '@berth/platform/kit/start-error.ts'
import type { CommitsConfig } from '@berth/platform/settings/commits.ts'
import { type CommitApp, type CommitSigner, defaultIdentity } from '../git-identity.ts'
import { KeyProblem } from './key-problem.ts'
import { openOpenPgpSigner } from './openpgp-signer.ts'
import { removeLeftKeys } from './run-with-key.ts'
import { openSshSigner } from './ssh-signer.ts'

/**
 * Opens the deployment's part in commits, as its configuration describes it.
 * @throws StartError if the key cannot sign
 */
export async function openCommitApp({ name, email, signingKey }: CommitsConfig): Promise<CommitApp> {
  return {
    identity: { name: name ?? defaultIdentity.name, email: email ?? defaultIdentity.email },
    signer: signingKey === undefined ? null : await openSigner(signingKey),
  }
}

async function openSigner(key: string): Promise<CommitSigner> {
  await removeLeftKeys()
  try {
    const [, kind] = /^-----BEGIN (PGP |)[A-Z ]*PRIVATE KEY/.exec(key.trim()) ?? []
    if (kind === undefined) throw new KeyProblem('is no private key as ssh-keygen or gpg --armor writes it')
    return await (kind === '' ? openSshSigner(key) : openOpenPgpSigner(key))
  } catch (error) {
    if (!(error instanceof KeyProblem)) throw error
    throw new StartError(`commits.signingKey of the configuration file ${error.message}`, { cause: error })
  }
}

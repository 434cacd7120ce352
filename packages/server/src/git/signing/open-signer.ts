import { StartError } from '../../kit/start-error.ts'
import type { CommitsConfig } from '../../settings/commits.ts'
import { type CommitApp, type CommitSigner, defaultIdentity } from '../git-identity.ts'
import { KeyProblem } from './key-problem.ts'
import { openSshSigner } from './ssh-signer.ts'

/**
 * Opens the deployment's part in commits, as its configuration describes it.
 * @throws StartError if the key cannot sign
 */
export function openCommitApp({ name, email, signingKey }: CommitsConfig): CommitApp {
  return {
    identity: { name: name ?? defaultIdentity.name, email: email ?? defaultIdentity.email },
    signer: signingKey === undefined ? null : openSigner(signingKey),
  }
}

function openSigner(text: string): CommitSigner {
  try {
    return openSshSigner(text)
  } catch (error) {
    if (!(error instanceof KeyProblem)) throw error
    throw new StartError(`commits.signingKey of the configuration file ${error.message}`, { cause: error })
  }
}

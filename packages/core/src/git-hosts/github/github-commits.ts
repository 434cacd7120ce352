import { GitHostError, type HostSigning } from '../git-host.ts'
import { matches } from './github-errors.ts'
import type { Call } from './github-talk.ts'

interface MadeCommit {
  readonly sha: string
  readonly verification: { readonly verified: boolean; readonly reason: string }
}

/** Reasons that pass: GitHub could not look at its own signature. */
const unavailable: ReadonlySet<string> = new Set(['gpgverify_error', 'gpgverify_unavailable'])

/** Returns the commits that GitHub makes as the bot of the App. */
export function githubSigning(call: Call): HostSigning {
  return {
    makeCommit: async ({ account, repositoryId }, { tree, parents, message }, signal) => {
      // GitHub signs a commit of a bot only if the request names neither author nor committer.
      const body = { message, tree, parents }
      try {
        const route = `POST /repositories/${repositoryId}/git/commits`
        const { sha, verification } = await call<MadeCommit>(account, route, body, signal)
        if (!/^[0-9a-f]{40}$/.test(sha)) throw new GitHostError('invalid', 'the host named no commit')
        if (verification.verified) return sha
        if (unavailable.has(verification.reason)) {
          throw new GitHostError('unavailable', `the host did not verify its commit: ${verification.reason}`)
        }
        return null
      } catch (error) {
        // So GitHub answers while no branch of a repository has a commit.
        if (error instanceof GitHostError && error.kind === 'conflict' && matches(error, /repository is empty/i))
          return null
        throw error
      }
    },
  }
}

import type { Attribution } from '../../accounts/organizations/commit-attribution.ts'
import { cleanIdentity, type GitIdentity } from '../../git/git-identity.ts'

/**
 * Returns whom a commit names, and the lines at the end of its message. The app is the committer, since it makes and
 * signs the commit; without a person it is the author too. A host makes commits only as the app.
 */
export function attribute(
  { author: wanted, signOff, signer }: Attribution,
  requester: GitIdentity | null,
  app: GitIdentity,
): { readonly author: GitIdentity; readonly committer: GitIdentity; readonly trailers: readonly string[] } {
  const person = requester === null ? null : cleanIdentity(requester)
  const author = wanted === 'person' && signer === 'deployment' ? (person ?? app) : app
  const trailers = [
    ...(person !== null && author !== person ? [`Co-authored-by: ${person.name} <${person.email}>`] : []),
    ...(signOff ? [`Signed-off-by: ${author.name} <${author.email}>`] : []),
  ]
  return { author, committer: app, trailers }
}

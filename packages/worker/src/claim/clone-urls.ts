import type { UploadPackRequest } from '@berth/core/git/serve-upload-pack.ts'
import type { GitHosts } from '@berth/core/git-hosts/git-hosts.ts'
import { LOCAL_HOST } from '@berth/core/git-hosts/local/local-host.ts'
import type { SessionAccount } from '@berth/core/repositories/session-accounts.ts'
import { PROXY_PORT } from '@berth/supervisor'

const PUBLIC_URL = 'https://github.com'
const localPath = '/_berth/git/local/'

/** A request of git's protocol for a repository of the data directory. */
export interface LocalTarget {
  /** `owner/name`, not checked. */
  readonly fullName: string
  /** `other`: it would write, or is no request of the protocol. */
  readonly what: UploadPackRequest | 'other'
}

/** Reads path and query of a request; null if it is for something else. */
export function readLocalTarget(target: string): LocalTarget | null {
  if (!target.startsWith(localPath)) return null
  const [, fullName = '', rest = ''] = target.slice(localPath.length).match(/^([^/?]+\/[^/?]+)\.git\/(.+)$/) ?? []
  if (rest === 'info/refs?service=git-upload-pack') return { fullName, what: 'info/refs' }
  return { fullName, what: rest === 'git-upload-pack' ? rest : 'other' }
}

/**
 * Returns the URL that a sandbox clones a repository from: a connected account's that covers it, else a granted one of
 * the data directory, else GitHub's, where it may be public. So a name that somebody takes at GitHub never stands in
 * for a repository of the data directory.
 */
export function cloneUrl(fullName: string, accounts: readonly SessionAccount[], hosts: GitHosts): string {
  const covering = accounts.filter(account => covers(account, fullName))
  for (const { host } of covering) {
    const tokens = hosts.find(host)?.tokens
    if (tokens !== undefined) return `${tokens.webUrl}/${fullName}.git`
  }
  if (covering.some(({ host }) => host === LOCAL_HOST))
    return `http://127.0.0.1:${PROXY_PORT}${localPath}${fullName}.git`
  const webUrls = hosts.ids.flatMap(id => hosts.find(id)?.tokens?.webUrl ?? [])
  const [first = PUBLIC_URL] = webUrls.includes(PUBLIC_URL) ? [] : webUrls
  return `${first}/${fullName}.git`
}

/** Returns true if the grants of an account cover a repository. */
export function covers({ host, login, whole, repositories }: SessionAccount, fullName: string): boolean {
  if (host === LOCAL_HOST) return whole || repositories.some(repository => repository.fullName === fullName)
  const folded = fullName.toLowerCase()
  return (
    (whole && folded.startsWith(`${login.toLowerCase()}/`)) ||
    repositories.some(repository => repository.fullName.toLowerCase() === folded)
  )
}

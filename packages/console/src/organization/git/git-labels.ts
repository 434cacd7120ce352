import type { GitAccount } from './queries.ts'

/** Returns the name of a Git host: the service's id of it is `github:github.com`, or `local`. */
export function hostName({ host, provider }: Pick<GitAccount, 'host' | 'provider'>): string {
  if (provider === 'local') return "This service's own repositories"
  const domain = host.slice(host.indexOf(':') + 1)
  if (provider !== 'github') return domain
  return domain === 'github.com' ? 'GitHub' : `GitHub Enterprise at ${domain}`
}

/** Returns how an account is told from others, in URLs. */
export const accountKey = ({ host, account }: Pick<GitAccount, 'host' | 'account'>): string => `${host} ${account}`

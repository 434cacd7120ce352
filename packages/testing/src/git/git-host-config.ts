import type { GitHubServer } from './github-server.ts'

/** Returns the configuration of a GitHub App whose people can connect accounts of their own. */
export const gitHostConfig = ({ url, appId, privateKey, people }: GitHubServer) => ({
  kind: 'github',
  baseUrl: url,
  appId,
  privateKey,
  clientId: people.clientId,
  clientSecret: people.clientSecret,
})

/** Returns the id that the service gives the host. */
export const hostIdOf = ({ url }: GitHubServer): string => `github:${new URL(url).host}`

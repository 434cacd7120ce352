import { join } from 'node:path'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { openNetwork } from '@berth/platform/network/dial.ts'
import { dialRule } from '@berth/platform/network/dial-rule.ts'
import { getPublic } from '@berth/platform/network/public-get.ts'
import type { GitHostConfig } from '@berth/platform/settings/config-file.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import type { GitIdentity } from '../git/git-identity.ts'
import { GitHosts } from './git-hosts.ts'
import { GitHubHost } from './github/github-host.ts'
import type { ReadUrl } from './github/github-logs.ts'
import { LocalHost } from './local/local-host.ts'

/**
 * Opens the hosts that the settings name, and that of the data directory, which always exists.
 * @throws StartError if a host is only half described, or described twice
 */
export function openGitHosts(
  deployment: {
    readonly db: Database
    readonly clock: Clock
    readonly dataDir: string
    readonly consoleUrl: () => string
    /** Committer of the merges that the service makes itself. */
    readonly committer?: GitIdentity
    /** Addresses that nothing of others may lead to. */
    readonly isRefused?: (address: string) => boolean
  },
  configured: readonly GitHostConfig[],
  stack: AsyncDisposableStack,
): GitHosts {
  const { db, clock, dataDir, consoleUrl, committer, isRefused = () => false } = deployment
  const readLog = readPublicLog(isRefused)
  const remote = configured.map(config => stack.use(openRemote(config, clock, readLog)))
  const twice = remote.find(({ id }, at) => remote.findIndex(host => host.id === id) !== at)
  if (twice !== undefined) throw new StartError(`gitHosts names ${twice.id} twice: remove one of them`)
  return new GitHosts([new LocalHost(db, clock, join(dataDir, 'repositories'), consoleUrl, committer), ...remote])
}

/** Most bytes of a log that are read to come to its end. */
const MAX_LOG_BYTES = 256 * 1024 * 1024

function readPublicLog(isRefused: (address: string) => boolean): ReadUrl {
  const reach = { network: openNetwork(), mayDial: dialRule(isRefused), maxBytes: MAX_LOG_BYTES }
  return (url, signal) => getPublic(url, { ...reach, signal })
}

function openRemote(config: GitHostConfig, clock: Clock, readLog: ReadUrl): GitHubHost {
  const { baseUrl, appId, privateKey, clientId, clientSecret } = config
  const client = clientId === undefined || clientSecret === undefined ? null : { id: clientId, secret: clientSecret }
  const app = {
    appId,
    privateKey,
    readLog,
    ...(baseUrl !== undefined && { baseUrl }),
    ...(client !== null && { client }),
  }
  return new GitHubHost(app, clock)
}

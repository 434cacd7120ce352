import type { RemoteAccess } from './remote-access.ts'

/**
 * Configuration that overrides a repository's own, so that git never executes anything from a repository. Set in the
 * environment, it outranks every file.
 */
const hardened: readonly (readonly [key: string, value: string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.untrackedCache', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.excludesFile', '/dev/null'],
  ['core.protectHFS', 'true'],
  ['core.protectNTFS', 'true'],
  ['core.sshCommand', '/bin/false'],
  ['core.askPass', ''],
  ['core.editor', '/bin/false'],
  ['credential.helper', ''],
  ['diff.external', ''],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['gpg.program', '/bin/false'],
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  ['http.followRedirects', 'false'],
  // For a host that takes the connection and then says nothing more.
  ['http.lowSpeedLimit', '1'],
  ['http.lowSpeedTime', '60'],
  ['protocol.allow', 'never'],
  ['protocol.file.allow', 'always'],
  ['protocol.http.allow', 'always'],
  ['protocol.https.allow', 'always'],
  ['safe.directory', '*'],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['push.recurseSubmodules', 'no'],
  ['transfer.credentialsInUrl', 'die'],
  ['advice.detachedHead', 'false'],
  ['init.defaultBranch', 'main'],
]

/**
 * Keeps git's allocator from handing each freed block back to the kernel. zlib takes and frees some 270 KiB for each
 * object, and by default the pages of that are given back and faulted in again each time: without these settings
 * `git add` of a thousand files takes three times as long. An allocator other than glibc's ignores them.
 */
const allocation = {
  MALLOC_TRIM_THRESHOLD_: String(32 * 1024 ** 2),
  MALLOC_MMAP_THRESHOLD_: String(1024 ** 2),
  MALLOC_TOP_PAD_: String(1024 ** 2),
} as const

/**
 * Returns the whole environment of the service's own git: no system or user configuration, no prompt, no helper, and no
 * transport but the remote's own. A credential travels here, as a header of that one URL, and never in arguments, which
 * every user of the machine can read.
 */
export function gitEnvironment(
  remote: RemoteAccess | undefined,
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const config = [
    ...hardened,
    ...(remote?.authorization === undefined
      ? []
      : [[`http.${remote.url}.extraHeader`, `Authorization: ${remote.authorization}`] as const]),
  ]
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: '/nonexistent',
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_PAGER: 'cat',
    GIT_EDITOR: '/bin/false',
    GIT_ALLOW_PROTOCOL: transportOf(remote),
    ...allocation,
    GIT_CONFIG_COUNT: String(config.length),
    ...Object.fromEntries(
      config.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${at}`, key],
        [`GIT_CONFIG_VALUE_${at}`, value],
      ]),
    ),
    ...extra,
  }
}

/** Returns the one transport of a remote; `none` without a remote. */
function transportOf(remote: RemoteAccess | undefined): string {
  if (remote === undefined) return 'none'
  if (remote.url.startsWith('https://')) return 'https'
  if (remote.url.startsWith('http://')) return 'http'
  if (remote.url.startsWith('/')) return 'file'
  throw new TypeError('the URL of a remote must be https, http or an absolute path')
}

/**
 * Returns options of `fetch` and `push` that harden the other end if it is a repository of this machine. Git starts
 * that end with an environment of its own, which lacks the configuration above, so a hook would run.
 */
export function transferOptions(direction: 'fetch' | 'push', remote: RemoteAccess): readonly string[] {
  if (!remote.url.startsWith('/')) return []
  const kept = ['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'safe.directory=*', 'receive.autogc=false']
  const wants = ['uploadpack.allowAnySHA1InWant=true']
  const options = [...kept, ...(direction === 'fetch' ? wants : [])].map(setting => `-c '${setting}'`).join(' ')
  return direction === 'fetch'
    ? [`--upload-pack=git ${options} upload-pack`]
    : [`--receive-pack=git ${options} receive-pack`]
}

/** Environment of a confined git that works on a sandbox's tree: only these settings, no other host, no prompts. */
export const confinedGitEnvironment = {
  PATH: '/usr/bin:/bin',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'none',
  ...allocation,
} as const

/** Paths of the platform's files inside a sandbox. */
export const insidePaths = {
  node: '/opt/berth/node',
  /** The same Node for the supervisor alone: a process that runs it cannot be traced. */
  closedNode: '/opt/berth/closed/node',
  bundles: '/opt/berth/bundles',
  /** The built-in agent. */
  engine: '/opt/berth/bundles/engine.cjs',
  /** Programs of the bundles that agents and scripts call by name. */
  programs: ['berth-present', 'berth-git-credential', 'berth-token', 'gh'].map(name => `/opt/berth/${name}`),
  workspace: '/workspace',
  /** The Session's repository. */
  project: '/workspace/project',
  platform: '/workspace/.berth',
  /** The installed files of the sandbox's runtime. */
  runtime: '/opt/runtime',
  /** Holds the extensions of the lease, each by its id. */
  extensions: '/opt/extensions',
  home: '/home/agent',
  run: '/run/berth',
  /** Written into the alternates of repositories, and so into checkpoints: it must never change. */
  objects: '/opt/source/objects',
} as const

/** Names below `insidePaths.run` of what a sandbox with an authority of its own trusts. */
export const trustNames = {
  directory: 'trust',
  /** A directory of certificates, as OpenSSL reads them. */
  certificates: 'certs',
  /** In that directory: all of them in one file. */
  bundle: 'ca-certificates.crt',
  java: 'truststore.jks',
} as const

/** The same as paths inside. */
export const trustPaths = {
  certificates: `${insidePaths.run}/${trustNames.directory}/${trustNames.certificates}`,
  bundle: `${insidePaths.run}/${trustNames.directory}/${trustNames.certificates}/${trustNames.bundle}`,
  java: `${insidePaths.run}/${trustNames.directory}/${trustNames.java}`,
} as const

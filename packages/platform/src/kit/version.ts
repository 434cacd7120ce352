import manifest from '../../package.json' with { type: 'json' }

/**
 * Version of this release. `npm version` writes it into the manifests of the repository's root and of every package at once
 * (CONTRIBUTING.md), and a test compares them.
 */
export const releaseVersion: string = manifest.version

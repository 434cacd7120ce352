import { type EnvironmentDocument, type EnvironmentDraft, environmentLimits, type SecretPin } from '@berth/contract'
import { canonicalJson } from '@berth/platform/kit/request-hash.ts'

/** A document without its pins: what a revision stores, and what decides whether two documents are equal. */
export type StoredDocument = Omit<EnvironmentDocument, 'secrets'>

/**
 * Fills in what a draft leaves out. A repository's path is by default its name. `complete` of the client does the same
 * for files.
 */
export function completeDocument(draft: EnvironmentDraft): StoredDocument {
  const { name, description = '', setup = '', variables = {}, extensions = [], github = false } = draft
  const {
    cache = { paths: [] },
    repositories = [],
    prebuild = false,
    packages = [],
    checks = [],
    requireVerified = false,
    preview,
    network,
  } = draft
  return {
    name,
    description,
    setup,
    variables,
    extensions,
    cache,
    github,
    repositories: repositories.map(entry => ({ ...entry, path: pathOf(entry) })),
    prebuild,
    packages,
    checks: checks.map(check => ({
      ...check,
      timeoutSeconds: check.timeoutSeconds ?? environmentLimits.checkSecondsDefault,
      required: check.required ?? true,
      quick: check.quick ?? false,
    })),
    ...(preview !== undefined && { preview }),
    network: { mode: network?.mode ?? 'open', hosts: network?.hosts ?? [] },
    requireVerified,
  }
}

/** Returns the directory below `/workspace` that a repository is cloned into. */
export function pathOf({ repository, path }: EnvironmentDocument['repositories'][number]): string {
  return path ?? repository.slice(repository.indexOf('/') + 1)
}

/** Returns the digest in a reference to an archive, `sha256:<digest>`. */
export const digestOf = (reference: string): string => reference.slice('sha256:'.length)

/** Returns the digests of the archives that a document names, in its order. */
export function archivesOf({ extensions }: Pick<StoredDocument, 'extensions'>): readonly string[] {
  return extensions.flatMap(({ archive }) => (archive === undefined ? [] : [digestOf(archive)]))
}

/**
 * Returns the text that a revision stores. Equal documents have equal texts; the order of lists counts. A member that
 * revisions from before it lack is left out while it is empty, so those stay equal to what they say.
 */
export function documentText({
  prebuild,
  packages,
  checks,
  requireVerified,
  network,
  ...document
}: StoredDocument): string {
  return canonicalJson({
    ...document,
    ...(prebuild && { prebuild }),
    ...(packages.length > 0 && { packages }),
    ...(checks.length > 0 && { checks }),
    ...(requireVerified && { requireVerified }),
    ...((network.mode !== 'open' || network.hosts.length > 0) && { network }),
  })
}

/** Reads a stored text back. */
export function readStored(text: string): StoredDocument {
  const stored: StoredDocument = JSON.parse(text)
  return {
    ...stored,
    prebuild: stored.prebuild ?? false,
    packages: stored.packages ?? [],
    checks: stored.checks ?? [],
    requireVerified: stored.requireVerified ?? false,
    network: stored.network ?? { mode: 'open', hosts: [] },
  }
}

/** Reads a stored text back, with the pins beside it. */
export function readDocument(text: string, secrets: readonly SecretPin[]): EnvironmentDocument {
  return { ...readStored(text), secrets: [...secrets] }
}

/** Returns the form in which names of live environments must differ. */
export const foldName = (name: string): string => name.normalize('NFC').toLowerCase()

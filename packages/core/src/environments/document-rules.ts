import { type EgressPolicy, type EnvironmentDraft, environmentLimits, type Issue } from '@berth/contract'
import { cachePathFault, PROJECT } from './cache-path.ts'
import { digestOf, documentText, pathOf, type StoredDocument } from './document.ts'
import { hostFault } from './egress-rule.ts'
import { closedHosts } from './policy-rules.ts'
import { isPin, type StoredPin } from './secret-exposure.ts'

/** Variables that the platform sets itself, in upper case. */
const reserved = new Set(['HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'NODE_USE_ENV_PROXY'])
const proxies = new Set(['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'FTP_PROXY'])
const repositoryPath = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/

const whiteSpaceOrControl = /^\s*$|\p{Cc}/u
/** Braces, classes and groups of other globs, which would count as characters here. */
const otherGlob = /[{}[\]!\\]|[@+?*]\(/
const blankName = 'must hold more than white space, and no control character'

/** Returns why a variable or a secret may not have this name; null if it may. */
export function nameFault(name: string): string | null {
  if (name.startsWith('BERTH_')) return 'begins with BERTH_, which the platform keeps for itself'
  if (reserved.has(name) || proxies.has(name.toUpperCase())) return 'is a variable that the platform sets itself'
  return null
}

/** What a document is held against, beside itself. */
export interface DocumentSurroundings {
  /** The secrets of the newest revision. */
  readonly pins: readonly StoredPin[]
  /** Paths below the home in which runtimes keep their conversations. */
  readonly conversations: readonly string[]
  /** Digests of the archives that the environment owns. */
  readonly archives: ReadonlySet<string>
  /** Slugs that the catalog lists. */
  readonly catalog: ReadonlySet<string>
  readonly policy: EgressPolicy
}

/**
 * Returns the faults of a complete document beyond its schema.
 * @param sent the pins that the caller wrote down; they may be left out
 */
export function documentFaults(
  document: StoredDocument,
  sent: EnvironmentDraft['secrets'],
  { pins, conversations, archives, catalog, policy }: DocumentSurroundings,
): readonly Issue[] {
  return [
    ...nameFaults(document.name),
    ...variableFaults(document.variables, pins),
    ...previewFaults(document),
    ...extensionFaults(document.extensions, archives, catalog),
    ...cacheFaults(document, conversations),
    ...repositoryFaults(document),
    ...checkFaults(document),
    ...networkFaults(document, policy),
    ...pinFaults(sent, pins),
    ...(Buffer.byteLength(documentText(document)) > environmentLimits.documentBytes
      ? [issue([], `must not exceed ${environmentLimits.documentBytes} bytes`)]
      : []),
  ]
}

const issue = (path: readonly (string | number)[], message: string): Issue => ({ path: ['document', ...path], message })

function nameFaults(name: string): readonly Issue[] {
  return whiteSpaceOrControl.test(name) ? [issue(['name'], blankName)] : []
}

function variableFaults(variables: StoredDocument['variables'], pins: readonly StoredPin[]): readonly Issue[] {
  const secrets = new Set(pins.map(({ name }) => name))
  return Object.keys(variables).flatMap(name => {
    const fault = nameFault(name) ?? (secrets.has(name) ? 'is the name of a secret of the environment' : null)
    return fault === null ? [] : [issue(['variables', name], fault)]
  })
}

function previewFaults({ preview }: StoredDocument): readonly Issue[] {
  // It is an argument of a program, which holds no NUL.
  return preview !== undefined && whiteSpaceOrControl.test(preview.command.replaceAll(/[\n\r\t]/g, ' '))
    ? [
        issue(
          ['preview', 'command'],
          'must hold more than white space, and of control characters only line breaks and tabs',
        ),
      ]
    : []
}

function extensionFaults(
  extensions: StoredDocument['extensions'],
  archives: ReadonlySet<string>,
  catalog: ReadonlySet<string>,
): readonly Issue[] {
  const seen = new Set<string>()
  return extensions.flatMap((entry, index) => {
    const reference = entry.catalog ?? entry.archive ?? ''
    if (seen.has(reference)) return [issue(['extensions', index], 'is listed twice')]
    seen.add(reference)
    if (entry.catalog !== undefined && !catalog.has(entry.catalog))
      return [issue(['extensions', index, 'catalog'], 'is not an extension of the catalog that this platform can run')]
    if (entry.archive === undefined) return []
    if (archives.has(digestOf(reference))) return []
    return [issue(['extensions', index, 'archive'], 'is not an archive of the environment; upload it first')]
  })
}

function cacheFaults({ cache: { paths }, repositories }: StoredDocument, conversations: readonly string[]) {
  const clones = repositories.map(pathOf)
  return paths.flatMap((path, index) => {
    const fault = cachePathFault(path, paths.slice(0, index), conversations, clones)
    return fault === null ? [] : [issue(['cache', 'paths', index], fault)]
  })
}

function repositoryFaults({ github, repositories }: StoredDocument): readonly Issue[] {
  if (repositories.length > 0 && !github) return [issue(['repositories'], 'need `github: true`')]
  const seen = new Set<string>()
  return repositories.flatMap((entry, index) => {
    const path = pathOf(entry)
    const folded = path.toLowerCase()
    const taken = seen.has(folded)
    seen.add(folded)
    if (!repositoryPath.test(path))
      return [issue(['repositories', index, 'path'], 'is needed: the name of the repository is no valid directory')]
    if (folded === PROJECT) return [issue(['repositories', index, 'path'], `must not be ${PROJECT}`)]
    return taken ? [issue(['repositories', index, 'path'], 'is the directory of an earlier repository')] : []
  })
}

function checkFaults({ checks }: StoredDocument): readonly Issue[] {
  const seen = new Set<string>()
  return checks.flatMap(({ name, paths = [] }, index) => {
    const taken = seen.has(name)
    seen.add(name)
    return [
      ...(taken ? [issue(['checks', index, 'name'], 'is the name of an earlier check')] : []),
      ...(whiteSpaceOrControl.test(name) ? [issue(['checks', index, 'name'], blankName)] : []),
      ...paths.flatMap((path, at) =>
        path.startsWith('/') || path.split('/').includes('..')
          ? [issue(['checks', index, 'paths', at], 'must lie below the repository: without a leading / and without ..')]
          : otherGlob.test(path)
            ? [
                issue(
                  ['checks', index, 'paths', at],
                  'may only use ?, *, and ** between slashes: no {}, [], !, \\ or group',
                ),
              ]
            : [],
      ),
    ]
  })
}

function networkFaults({ network: { hosts } }: StoredDocument, policy: EgressPolicy): readonly Issue[] {
  const path = ['document', 'network', 'hosts']
  return [...hosts.flatMap((host, index) => hostFault(host, [...path, index])), ...closedHosts(hosts, policy, path)]
}

/** Returns the fault of pins that a caller wrote down, if they are not those of the newest revision. */
export function pinFaults(sent: EnvironmentDraft['secrets'], pins: readonly StoredPin[]): readonly Issue[] {
  return sent === undefined || samePins(sent, pins)
    ? []
    : [issue(['secrets'], 'must be the pins of the newest revision, or left out')]
}

function samePins(sent: NonNullable<EnvironmentDraft['secrets']>, pins: readonly StoredPin[]): boolean {
  const known = new Map(pins.map(pin => [pin.name, pin]))
  return (
    sent.length === pins.length &&
    new Set(sent.map(({ name }) => name)).size === sent.length &&
    sent.every(pin => {
      const found = known.get(pin.name)
      return found !== undefined && isPin(pin, found)
    })
  )
}

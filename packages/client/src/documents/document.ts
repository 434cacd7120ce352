import type { EnvironmentDocument, EnvironmentDraft } from '../generated/types.ts'
import { same } from './same.ts'

/** A document as it is compared: with every member, and without the versions of secrets, which nobody writes down. */
export type PlainDocument = Omit<EnvironmentDocument, 'secrets'>

const order = [
  'name',
  'description',
  'setup',
  'variables',
  'extensions',
  'cache',
  'github',
  'repositories',
  'prebuild',
  'packages',
  'checks',
  'preview',
  'network',
  'requireVerified',
]

/** Returns a document without the versions of its secrets, its members in the order of the reference. */
export function plain({ secrets: _, ...document }: EnvironmentDocument): PlainDocument {
  return sorted(document)
}

/** Completes a draft with the service's defaults, so that a file and a revision can be compared. */
export function complete({ secrets: _, ...draft }: EnvironmentDraft): PlainDocument {
  const empty = {
    description: '',
    setup: '',
    variables: {},
    extensions: [],
    cache: { paths: [] },
    github: false,
    prebuild: false,
    packages: [],
    requireVerified: false,
  }
  const { repositories, checks, network } = draft
  return sorted({
    ...empty,
    ...draft,
    network: withHosts(network),
    repositories: Array.isArray(repositories) ? repositories.map(withPath) : [],
    checks: Array.isArray(checks)
      ? checks.map(check => ({ timeoutSeconds: 600, required: true, quick: false, ...check }))
      : [],
  })
}

/** Returns the names of the members in which two documents differ. */
export function changedMembers(before: PlainDocument, after: PlainDocument): string[] {
  const [from, to] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  return [...new Set([...from.keys(), ...to.keys()])].filter(name => !same(from.get(name), to.get(name)))
}

function withPath(entry: NonNullable<EnvironmentDraft['repositories']>[number]) {
  const { repository } = Object(entry) as Partial<typeof entry>
  if (typeof repository !== 'string') return entry
  return { path: repository.slice(repository.indexOf('/') + 1), ...entry }
}

function withHosts(network: EnvironmentDraft['network']) {
  const isObject = typeof network === 'object' && network !== null && !Array.isArray(network)
  return network === undefined || isObject ? { mode: 'open', hosts: [], ...network } : network
}

function sorted(document: object): PlainDocument {
  const named = order.map(name => [name, undefined])
  // Members that the service does not know stay, behind the others, so that it can name them in its refusal.
  return { ...Object.fromEntries(named), ...document } as PlainDocument
}

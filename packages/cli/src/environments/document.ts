import { isDeepStrictEqual } from 'node:util'
import type { EnvironmentDocument, EnvironmentDraft } from '@berth/client'

/** A document as it is compared: with every member, and without the versions of secrets, which no file holds. */
export type PlainDocument = Omit<EnvironmentDocument, 'secrets'>

const order = ['name', 'description', 'setup', 'variables', 'extensions', 'cache', 'github', 'repositories', 'prebuild']

/** Returns a document without the versions of its secrets, its members in the order of the reference. */
export function plain({ secrets: _, ...document }: EnvironmentDocument): PlainDocument {
  return sorted(document)
}

/** Fills in what a draft leaves out, as the service does, so that a file and a revision can be compared. */
export function complete({ secrets: _, ...draft }: EnvironmentDraft): PlainDocument {
  const empty = {
    description: '',
    setup: '',
    variables: {},
    extensions: [],
    cache: { paths: [] },
    github: false,
    prebuild: false,
  }
  const repositories = draft.repositories ?? []
  return sorted({ ...empty, ...draft, repositories: Array.isArray(repositories) ? repositories.map(withPath) : [] })
}

/** Returns the names of the members in which two documents differ. */
export function changedMembers(before: PlainDocument, after: PlainDocument): string[] {
  const [from, to] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  return [...new Set([...from.keys(), ...to.keys()])].filter(name => !isDeepStrictEqual(from.get(name), to.get(name)))
}

/** Returns the lines in which people compare documents: the setup script has a line for each of its own. */
export function documentText(document: PlainDocument): string {
  const { setup, variables } = document
  const names = Object.keys(variables).toSorted()
  const shown = {
    ...document,
    setup: typeof setup === 'string' && setup !== '' ? setup.split('\n') : setup,
    variables: Object.fromEntries(names.map(name => [name, variables[name]])),
  }
  return `${JSON.stringify(shown, null, 2)}\n`
}

function withPath(entry: NonNullable<EnvironmentDraft['repositories']>[number]) {
  const { repository } = entry
  if (typeof repository !== 'string') return entry
  return { path: repository.slice(repository.indexOf('/') + 1), ...entry }
}

function sorted(document: object): PlainDocument {
  const named = order.map(name => [name, undefined])
  // Members that the service does not know stay, behind the others, so that it can name them in its refusal.
  return { ...Object.fromEntries(named), ...document } as PlainDocument
}

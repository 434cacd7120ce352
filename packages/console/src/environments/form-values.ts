import type { EnvironmentDraft } from '@berth/client'
import type { PlainDocument } from '@berth/client/documents'

/** A document as the form holds it: lists of rows, and text where the document may leave a member out. */
export interface FormValues {
  name: string
  description: string
  setup: string
  variables: { name: string; value: string }[]
  github: boolean
  repositories: { repository: string; branch: string; path: string }[]
  cachePaths: { path: string }[]
  extensions: { kind: 'catalog' | 'archive'; reference: string }[]
  prebuild: boolean
  /** Names with white space between them. */
  packages: string
  /** Without a command and a port there is none. */
  preview: { command: string; port: string }
  /** Hosts with white space between them. */
  network: { mode: PlainDocument['network']['mode']; hosts: string }
  /** Members that the form has no field for; they are saved as they are. */
  rest: Record<string, unknown>
}

/** The document of an environment that nobody has written yet. */
export const emptyDocument: PlainDocument = {
  name: '',
  description: '',
  setup: '',
  variables: {},
  extensions: [],
  cache: { paths: [] },
  github: false,
  repositories: [],
  prebuild: false,
  packages: [],
  checks: [],
  network: { mode: 'open', hosts: [] },
  requireVerified: false,
}

export function toForm(document: PlainDocument): FormValues {
  const { name, description, setup, variables, extensions, cache, github, repositories, ...others } = document
  const { prebuild, packages, preview, network, ...rest } = others
  return {
    name,
    description,
    setup,
    variables: Object.entries(variables).map(([key, value]) => ({ name: key, value })),
    github,
    repositories: repositories.map(({ repository, branch = '', path = '' }) => ({ repository, branch, path })),
    cachePaths: cache.paths.map(path => ({ path })),
    extensions: extensions.map(({ catalog, archive = '' }) =>
      catalog === undefined ? { kind: 'archive', reference: archive } : { kind: 'catalog', reference: catalog },
    ),
    prebuild,
    packages: packages.join('\n'),
    preview: { command: preview?.command ?? '', port: String(preview?.port ?? '') },
    // The JSON view may hold a list that is none.
    network: { mode: network.mode, hosts: Array.isArray(network.hosts) ? network.hosts.join('\n') : '' },
    rest,
  }
}

const isFilled = (row: object): boolean => Object.values(row).some(value => value !== '')
const isNamed = (row: { readonly reference: string }): boolean => row.reference !== ''

/** Returns the document of a form. Rows in which nothing is entered are left out. */
export function fromForm(values: FormValues): EnvironmentDraft {
  const { variables, repositories, cachePaths, extensions, packages, preview, network, rest, ...plain } = values
  return {
    ...rest,
    ...plain,
    variables: Object.fromEntries(variables.filter(isFilled).map(({ name, value }) => [name, value])),
    repositories: repositories.filter(isFilled).map(({ repository, branch, path }) => ({
      repository,
      ...(branch !== '' && { branch }),
      ...(path !== '' && { path }),
    })),
    cache: { paths: cachePaths.filter(isFilled).map(({ path }) => path) },
    extensions: extensions.filter(isNamed).map(({ kind, reference }) => ({ [kind]: reference })),
    packages: namesIn(packages),
    network: { mode: network.mode, hosts: namesIn(network.hosts) },
    ...(isFilled(preview) && {
      preview: { command: preview.command, ...(preview.port.trim() !== '' && { port: Number(preview.port) }) },
    }),
  }
}

const namesIn = (text: string): string[] => text.split(/[\s,]+/).filter(name => name !== '')

/** Returns the place in the document that a row of the form becomes. */
export function placeOf(list: 'repositories' | 'cachePaths' | 'extensions', values: FormValues, at: number): number {
  const before: readonly object[] = values[list].slice(0, at)
  return before.filter(row => ('reference' in row ? row.reference !== '' : isFilled(row))).length
}

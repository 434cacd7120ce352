import type { Import } from './module-graph.ts'

/** A direction that imports must not take. */
export interface Rule {
  readonly because: string
  readonly forbids: (edge: Import) => boolean
}

const server = 'packages/server/src/'
/** Folders of the server that are no domain: below the domains, or above them. */
const layers = new Set(['http', 'execution', 'storage', 'settings', 'sandboxes', 'network'])
const workspaces: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  supervisor: [],
  engine: [],
  client: ['@berth/contract'],
  cli: ['@berth/contract', '@berth/client', '@berth/server'],
  server: ['@berth/contract', '@berth/supervisor'],
}

/** The first folder below the server's `src`; empty for a file that lies in `src` itself. */
function folderOf(path: string): string | undefined {
  if (!path.startsWith(server)) return undefined
  const rest = path.slice(server.length)
  return rest.includes('/') ? rest.slice(0, rest.indexOf('/')) : ''
}

function isDomain(folder: string | undefined): boolean {
  return folder !== undefined && folder !== '' && !layers.has(folder)
}

function isStatements(path: string): boolean {
  return /(?:-sql|\/queries)\.ts$/.test(path)
}

/** Tests may look anywhere in their own package. */
function isTest(path: string): boolean {
  return /\.test\.ts$|\/(?:test|testing)\//.test(path)
}

function workspaceOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1]
}

/** Dependencies point one way: http → domain → storage, execution → domain, everything → contract. */
export const rules: readonly Rule[] = [
  {
    because: 'no such file',
    forbids: edge => edge.missing,
  },
  {
    because: 'a package is reached by its name, not by a path into it',
    forbids: edge =>
      edge.to.startsWith('packages/') &&
      workspaceOf(edge.to) !== workspaceOf(edge.from) &&
      workspaceOf(edge.from) !== undefined,
  },
  {
    because:
      'contract is below everything, client knows only it, supervisor and engine know none, and only cli starts the server',
    forbids: edge => {
      const own = workspaceOf(edge.from)
      const target = /^@berth\/[^/]+/.exec(edge.to)?.[0]
      if (own === undefined || target === undefined || isTest(edge.from)) return false
      return !(workspaces[own]?.includes(target) ?? true)
    },
  },
  {
    because: 'what ships does not need tests',
    forbids: edge => !isTest(edge.from) && isTest(edge.to) && edge.from.startsWith('packages/'),
  },
  {
    because: 'storage knows no layer above it',
    forbids: edge => folderOf(edge.from) === 'storage' && !isTest(edge.from) && !below(edge.to, ['storage']),
  },
  {
    because: 'settings know storage at most',
    forbids: edge =>
      folderOf(edge.from) === 'settings' && !isTest(edge.from) && !below(edge.to, ['settings', 'storage']),
  },
  {
    because: 'a sandbox driver knows no domain',
    forbids: edge =>
      folderOf(edge.from) === 'sandboxes' && !isTest(edge.from) && !below(edge.to, ['sandboxes', 'network', 'storage']),
  },
  {
    because: 'a domain never imports http; its routes.ts may name the types of http/handler.ts',
    forbids: edge => {
      if (!isDomain(folderOf(edge.from)) || folderOf(edge.to) !== 'http' || isTest(edge.from)) return false
      const handlerTypes =
        edge.typeOnly && edge.to === `${server}http/handler.ts` && /\/(?:\w+-)*routes\.ts$/.test(edge.from)
      return !handlerTypes
    },
  },
  {
    because: 'execution uses the domains, not the other way round',
    forbids: edge => {
      const folder = folderOf(edge.from)
      return (isDomain(folder) || folder === 'http') && folderOf(edge.to) === 'execution' && !isTest(edge.from)
    },
  },
  {
    because: 'execution does not answer requests',
    forbids: edge => folderOf(edge.from) === 'execution' && folderOf(edge.to) === 'http' && !isTest(edge.from),
  },
  {
    because: "a domain's statements are its own; call its verbs",
    forbids: edge => {
      const folder = folderOf(edge.from)
      if (folder === undefined || folder === 'execution') return false
      return isStatements(edge.to) && folder !== folderOf(edge.to) && !isTest(edge.from)
    },
  },
  {
    because: 'only the composition reads settings; parts are handed what they need',
    forbids: edge => {
      const folder = folderOf(edge.from)
      const reads = edge.to === `${server}settings.ts` || folderOf(edge.to) === 'settings'
      return (
        reads && !edge.typeOnly && folder !== '' && folder !== 'settings' && folder !== undefined && !isTest(edge.from)
      )
    },
  },
]

/** Whether an import from a lower layer stays there: in these folders, in the files beside them, or outside the server. */
function below(to: string, folders: readonly string[]): boolean {
  const folder = folderOf(to)
  return folder === undefined || folder === '' || folders.includes(folder)
}

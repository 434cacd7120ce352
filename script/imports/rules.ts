import type { Import } from './module-graph.ts'
import { innerRooms, levelOf, rooms } from './rooms.ts'

/** A direction that imports must not take. */
export interface Rule {
  readonly because: string
  readonly forbids: (edge: Import) => boolean
}

const server = 'packages/server/src/'

/** The packages that each package may import. */
const workspaces: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  supervisor: [],
  engine: [],
  client: ['@berth/contract'],
  mcp: ['@berth/contract', '@berth/client'],
  cli: ['@berth/contract', '@berth/client', '@berth/mcp', '@berth/server'],
  console: ['@berth/contract', '@berth/client'],
  site: [],
  server: ['@berth/contract', '@berth/client', '@berth/mcp', '@berth/supervisor'],
}

/** Returns the folders of a file below the server's `src`, and the file's name without its extension. */
function placeOf(path: string): { readonly room: string; readonly inner: string } | undefined {
  if (!path.startsWith(server)) return undefined
  const [first = '', second = '', third] = path.slice(server.length).replace(/\.ts$/, '').split('/')
  return { room: first, inner: third === undefined || second === '' ? '.' : second }
}

/** Returns true for tests, which may import anything of their own package. */
function isTest(path: string): boolean {
  return /\.test\.ts$|\/(?:test|testing)\//.test(path)
}

function workspaceOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1]
}

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
      'contract is below everything, client knows only it, mcp and console know both, supervisor and engine know none, and only cli starts the server',
    forbids: edge => {
      const own = workspaceOf(edge.from)
      const target = /^@berth\/[^/]+/.exec(edge.to)?.[0]
      if (own === undefined || target === undefined || isTest(edge.from)) return false
      return !(workspaces[own]?.includes(target) ?? true)
    },
  },
  {
    because: 'code that ships does not need tests',
    forbids: edge => !isTest(edge.from) && isTest(edge.to) && edge.from.startsWith('packages/'),
  },
  {
    because: 'script/imports/rooms.ts does not name this folder',
    forbids: edge => {
      const from = placeOf(edge.from)
      if (from === undefined || isTest(edge.from)) return false
      const inner = innerRooms[from.room]
      return levelOf(rooms, from.room) === -1 || (inner !== undefined && levelOf(inner, from.inner) === -1)
    },
  },
  {
    because: 'an import goes to the same folder or an earlier one of script/imports/rooms.ts',
    forbids: edge => {
      const from = placeOf(edge.from)
      const to = placeOf(edge.to)
      if (from === undefined || to === undefined || isTest(edge.from)) return false
      if (from.room !== to.room) return levelOf(rooms, to.room) > levelOf(rooms, from.room)
      const inner = innerRooms[from.room]
      return inner !== undefined && from.inner !== to.inner && levelOf(inner, to.inner) > levelOf(inner, from.inner)
    },
  },
  {
    because: 'only the compositions read settings; every other part is handed what it needs',
    forbids: edge => {
      const readers = new Set(['settings', 'admin', 'composition', 'serve', 'run-service', 'run-host', 'run-doctor'])
      const from = placeOf(edge.from)
      const reads = placeOf(edge.to)?.room === 'settings' && !edge.typeOnly
      return reads && from !== undefined && !readers.has(from.room) && !isTest(edge.from)
    },
  },
]

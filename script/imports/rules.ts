import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Import } from './module-graph.ts'
import { innerRooms, levelOf, type Rooms, rooms } from './rooms.ts'

/** A direction that imports must not take. */
export interface Rule {
  readonly because: string
  readonly forbids: (edge: Import) => boolean
}

/** Where a source file lies: its package, the folder below `src`, and the folder in that. */
interface Place {
  readonly package: string
  readonly room: string
  readonly inner: string
}

/** Returns the place of a path, or of an import of another package as it is written; undefined outside the service. */
function placeOf(path: string): Place | undefined {
  const [, name = '', rest = ''] =
    /^packages\/([^/]+)\/src\/(.*)$/.exec(path) ?? /^@berth\/([^/]+)\/(.*)$/.exec(path) ?? []
  const order = rooms[name]
  if (order === undefined) return undefined
  const [first = '', second = '', third] = rest.replace(/\.ts$/, '').split('/')
  const room = second === '' && levelOf(order, '.') !== -1 ? '.' : first
  return { package: name, room, inner: third === undefined || second === '' ? '.' : second }
}

/** Returns true for tests, which may import anything that their package's manifest names. */
function isTest(path: string): boolean {
  return /\.test\.tsx?$|\/(?:test|testing)\//.test(path)
}

function workspaceOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1]
}

/** Returns the rules of a repository. */
export function rulesOf(root: string): readonly Rule[] {
  const manifests = new Map<string, { dependencies: Set<string>; devDependencies: Set<string> }>()
  const manifestOf = (name: string) => {
    const path = join(root, 'packages', name, 'package.json')
    const read = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
    const manifest = manifests.get(name) ?? {
      dependencies: new Set(Object.keys({ ...read.dependencies, ...read.peerDependencies })),
      devDependencies: new Set(Object.keys(read.devDependencies ?? {})),
    }
    manifests.set(name, manifest)
    return manifest
  }
  const ascends = (order: Rooms | undefined, from: string, to: string) =>
    order !== undefined && from !== to && levelOf(order, to) > levelOf(order, from)
  return [
    {
      because: 'no such file',
      forbids: edge => edge.missing,
    },
    {
      because: 'a package is reached by its name, not by a path into it',
      forbids: edge =>
        edge.to.startsWith('packages/') &&
        /\.tsx?$/.test(edge.to) &&
        workspaceOf(edge.to) !== workspaceOf(edge.from) &&
        workspaceOf(edge.from) !== undefined,
    },
    {
      because: 'the manifest of the importing package does not name that package',
      forbids: edge => {
        const own = workspaceOf(edge.from)
        const target = /^@berth\/[^/]+/.exec(edge.to)?.[0]
        if (own === undefined || target === undefined || target === `@berth/${own}`) return false
        const { dependencies, devDependencies } = manifestOf(own)
        return !dependencies.has(target) && !(isTest(edge.from) && devDependencies.has(target))
      },
    },
    {
      because: 'code that ships does not need tests',
      forbids: edge =>
        !isTest(edge.from) &&
        edge.from.startsWith('packages/') &&
        (isTest(edge.to) || edge.to.startsWith('@berth/testing')),
    },
    {
      because: 'script/imports/rooms.ts does not name this folder',
      forbids: edge => {
        const from = placeOf(edge.from)
        if (from === undefined || isTest(edge.from)) return false
        const inner = innerRooms[`${from.package}/${from.room}`]
        return (
          levelOf(rooms[from.package] ?? [], from.room) === -1 ||
          (inner !== undefined && levelOf(inner, from.inner) === -1)
        )
      },
    },
    {
      because: 'an import goes to the same folder or an earlier one of script/imports/rooms.ts',
      forbids: edge => {
        const from = placeOf(edge.from)
        const to = placeOf(edge.to)
        if (from === undefined || to === undefined || isTest(edge.from) || from.package !== to.package) return false
        if (from.room !== to.room) return ascends(rooms[from.package], from.room, to.room)
        return ascends(innerRooms[`${from.package}/${from.room}`], from.inner, to.inner)
      },
    },
    {
      because: 'only the compositions read settings; every other part is handed what it needs',
      forbids: edge => {
        const readers = ['admin', 'composition', 'serve', 'run-service', 'run-host', 'run-doctor']
        const from = placeOf(edge.from)
        const to = placeOf(edge.to)
        if (from === undefined || to?.package !== 'platform' || to.room !== 'settings' || edge.typeOnly) return false
        const reads = from.package === 'server' ? readers.includes(from.room) : from.room === 'settings'
        return !reads && !isTest(edge.from)
      },
    },
  ]
}

import { type Method, mirroredPath, mirrorOf, type OperationId, operationIds, operationOf } from '@berth/contract'

interface Pattern {
  readonly id: OperationId
  readonly method: Method
  readonly path: RegExp
}

const escaped = (literal: string) => literal.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

const patterns: readonly Pattern[] = operationIds.map(id => {
  const { method, path } = operationOf(id)
  const source = path.split(/\{\w+\}/).map(escaped)
  return { id, method, path: new RegExp(`^${source.join('[^/]*')}$`) }
})

/** For each operation, the patterns of others whose paths its own pattern also matches. */
const within: ReadonlyMap<OperationId, readonly RegExp[]> = new Map(
  patterns.flatMap(({ id, path }) => {
    const others = patterns.filter(other => other.path.source !== path.source && path.test(operationOf(other.id).path))
    return others.length === 0 ? [] : [[id, others.map(other => other.path)] as const]
  }),
)

/**
 * Returns whether a path that an operation's pattern matches is that of a more specific operation. The router confuses
 * the two for methods that the more specific one lacks.
 */
export const isWithin = (id: OperationId, path: string): boolean =>
  within.get(id)?.some(pattern => pattern.test(path)) === true

/** Where hooks were before they left the paths that take a bearer. Other systems still post there. */
const olderHooks = /^\/v1\/hooks\//

/** Returns the paths at which an operation whose senders sign is served, as templates. */
export const signedPaths = (path: string): readonly string[] =>
  path.startsWith('/hooks/') ? [path, `/v1${path}`] : [path]

/**
 * Returns the operations at a path or at its mirror, whatever their method. A 405 lists their methods; without any, the
 * answer is 404. A path matches only the most specific operations in the table, never an id of another.
 */
export function operationsAt(path: string): readonly OperationId[] {
  const mirrored = mirroredPath(path)
  return mirrored === null
    ? tableAt(path.replace(olderHooks, '/hooks/'))
    : tableAt(mirrored).filter(id => mirrorOf(operationOf(id)) !== null)
}

const tableAt = (path: string): readonly OperationId[] =>
  patterns.filter(({ id, path: pattern }) => pattern.test(path) && !isWithin(id, path)).map(({ id }) => id)

/** Converts a path template to the router's notation, in which a colon begins a parameter and two colons mean one. */
export const routerPath = (template: string): string =>
  template.replaceAll(/\{(\w+)\}(:)?/g, (_, name: string, colon?: string) =>
    colon === undefined ? `:${name}` : `:${name}(^.+)::`,
  )

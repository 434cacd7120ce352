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

/**
 * Returns the operations at a path or at its mirror, whatever their method. A 405 lists their methods; without any, the
 * answer is 404. A path that equals a literal path in the table matches only that one, never an id of another.
 */
export function operationsAt(path: string): readonly OperationId[] {
  const mirrored = mirroredPath(path)
  return mirrored === null ? tableAt(path) : tableAt(mirrored).filter(id => mirrorOf(operationOf(id)) !== null)
}

function tableAt(path: string): readonly OperationId[] {
  const matching = patterns.filter(pattern => pattern.path.test(path))
  const literal = matching.filter(({ id }) => operationOf(id).path === path)
  return (literal.length > 0 ? literal : matching).map(({ id }) => id)
}

/**
 * Literal paths of other operations that an operation's own pattern also matches. The router confuses the two for
 * methods that the literal path lacks.
 */
export const pathsWithin: ReadonlyMap<OperationId, ReadonlySet<string>> = new Map(
  patterns.flatMap(({ id, path }) => {
    const others = operationIds.map(other => operationOf(other).path).filter(other => !other.includes('{'))
    const within = others.filter(other => other !== operationOf(id).path && path.test(other))
    return within.length === 0 ? [] : [[id, new Set(within)] as const]
  }),
)

/** Converts a path template to the router's notation, in which a colon begins a parameter and two colons mean one. */
export const routerPath = (template: string): string =>
  template.replaceAll(/\{(\w+)\}(:)?/g, (_, name: string, colon?: string) =>
    colon === undefined ? `:${name}` : `:${name}(^.+)::`,
  )

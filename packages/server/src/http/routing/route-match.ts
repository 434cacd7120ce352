import { type Method, type OperationId, operationIds, operationOf } from '@berth/contract'

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
 * The rows of the table whose path this is, whatever their method: what a 405 lists, and what tells it from a 404. A path
 * that stands in the table word for word is that one alone, and no id within another.
 */
export function operationsAt(path: string): readonly OperationId[] {
  const matching = patterns.filter(pattern => pattern.path.test(path))
  const literal = matching.filter(({ id }) => operationOf(id).path === path)
  return (literal.length > 0 ? literal : matching).map(({ id }) => id)
}

/** Paths of other rows that a row's own path takes for one of its ids; the router does, for methods they do not have. */
export const pathsWithin: ReadonlyMap<OperationId, ReadonlySet<string>> = new Map(
  patterns.flatMap(({ id, path }) => {
    const others = operationIds.map(other => operationOf(other).path).filter(other => !other.includes('{'))
    const within = others.filter(other => other !== operationOf(id).path && path.test(other))
    return within.length === 0 ? [] : [[id, new Set(within)] as const]
  }),
)

/** The template in the router's notation, in which a colon begins a parameter and two are one. */
export const routerPath = (template: string): string =>
  template.replaceAll(/\{(\w+)\}(:)?/g, (_, name: string, colon?: string) =>
    colon === undefined ? `:${name}` : `:${name}(^.+)::`,
  )

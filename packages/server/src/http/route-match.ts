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

/** The rows of the table whose path this is, whatever their method: what a 405 lists, and what tells it from a 404. */
export const operationsAt = (path: string): readonly OperationId[] =>
  patterns.filter(pattern => pattern.path.test(path)).map(pattern => pattern.id)

/** The template in the router's notation, in which a colon begins a parameter and two are one. */
export const routerPath = (template: string): string =>
  template.replaceAll(/\{(\w+)\}(:)?/g, (_, name: string, colon?: string) =>
    colon === undefined ? `:${name}` : `:${name}(^.+)::`,
  )

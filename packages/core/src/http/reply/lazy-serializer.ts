import type { Operation } from '@berth/contract'
import fastJsonStringify from 'fast-json-stringify'
import type { FastifySerializerCompiler } from 'fastify'

type Serializer = (value: unknown) => string

/** Returns the schemas of an operation's answers, by their status. */
export function answerSchemas({ responses }: Pick<Operation, 'responses'>) {
  const withContent = Object.entries(responses).filter(([, { schema }]) => schema !== undefined)
  return { response: Object.fromEntries(withContent.map(([status, { schema }]) => [status, schema])) }
}

/** One for each schema of the process, however many services it starts. */
const serializers = new WeakMap<object, Serializer>()

/**
 * Returns serializers that compile their schema at the first answer, since a process sends answers of few of the contract's
 * operations, and compiling all of them took half a second of its start.
 */
export const lazySerializer: FastifySerializerCompiler<object> = ({ schema }) => {
  return value => {
    const known = serializers.get(schema)
    if (known !== undefined) return known(value)
    const made: Serializer = fastJsonStringify(schema)
    serializers.set(schema, made)
    return made(value)
  }
}

import fastJsonStringify from 'fast-json-stringify'
import type { FastifySerializerCompiler } from 'fastify'

type Serializer = (value: unknown) => string

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

import Type from 'typebox'
import { checked } from './schema.ts'

/** Where the secrets of a file come from. */
export interface SecretSource {
  readonly variables: Readonly<Record<string, string | undefined>>
  /** True if others than its owner may read the file, which then must hold no secret itself. */
  readonly isOpen: boolean
}

/** A text as it is, or the name of the variable that holds it. */
export type Written = string | { readonly env: string }

export const HOW_TO_CLOSE = 'is open to others: chmod 600 it, or write { "env": "NAME" } for the secret'

/** A text that a file may leave to the environment, as it stands there. */
export const written = ({ variables }: SecretSource) =>
  checked(
    Type.Unsafe<Written>({}),
    value => faultOf(value, variables) === null,
    value => faultOf(value, variables) ?? '',
  )

function faultOf(value: unknown, variables: SecretSource['variables']): string | null {
  if (typeof value === 'string' && value !== '') return null
  const [[key, name] = [], ...others] = typeof value === 'object' && value !== null ? Object.entries(value) : []
  if (key !== 'env' || typeof name !== 'string' || others.length > 0) return 'must be a text or { "env": "NAME" }'
  return variables[name] ? null : `names the variable ${name}, which is not set`
}

/** Returns the text of either form. */
export const textOf = (value: Written, { variables }: SecretSource): string =>
  typeof value === 'string' ? value : (variables[value.env] ?? '')

/** A text that a file may leave to the environment. */
export const plain = (source: SecretSource) => Type.Decode(written(source), value => textOf(value, source))

/** The same for a secret, which a file that is open to others must not hold itself. */
export const secret = (source: SecretSource, leastLength = 1) => {
  const closed = checked(
    written(source),
    value => !source.isOpen || typeof value !== 'string',
    `is a secret, and the file ${HOW_TO_CLOSE}`,
  )
  const isLong = (value: Written) => textOf(value, source).length >= leastLength
  const long = checked(closed, isLong, `must be at least ${leastLength} characters long`)
  return Type.Decode(long, value => textOf(value, source))
}

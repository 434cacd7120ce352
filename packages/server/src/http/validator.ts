import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { isUuid } from '../uuid.ts'
import { maxIssues, type RequestIssue } from './issue.ts'

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Judges a value against a schema, filling its defaults in; an empty list means it holds. */
export type Validator = (value: unknown) => readonly RequestIssue[]

/** All faults are reported, nothing is removed or coerced, and lengths count code points. */
const ajv = new Ajv2020({
  allErrors: true,
  useDefaults: true,
  coerceTypes: false,
  removeAdditional: false,
  allowUnionTypes: true,
  unicodeRegExp: true,
  formats: {
    uuid: isUuid,
    uri: (text: string) => URL.canParse(text),
    byte: (text: string) => text.length % 4 === 0 && base64.test(text),
    'date-time': true,
  },
})

/** A validator of one schema of the contract. */
export function compileValidator(schema: TSchema): Validator {
  const validate: ValidateFunction = ajv.compile(schema)
  return value => {
    if (validate(value)) return []
    return (validate.errors ?? []).slice(0, maxIssues).map(error => issueOf(error, value))
  }
}

function issueOf(error: ErrorObject, root: unknown): RequestIssue {
  const path = pathOf(error.instancePath, root)
  switch (error.keyword) {
    case 'required':
      return { path: [...path, String(error.params.missingProperty)], message: 'is required' }
    case 'additionalProperties':
      return {
        path: [...path, String(error.params.additionalProperty).toWellFormed()],
        message: 'is not a known property',
      }
    case 'enum':
      return { path, message: `must be one of ${JSON.stringify(error.params.allowedValues)}` }
    default:
      return { path, message: error.message ?? 'is not valid' }
  }
}

/** A JSON pointer as the contract's path: an array's member by its number, an object's by its name. */
function pathOf(pointer: string, root: unknown): readonly (string | number)[] {
  let at: unknown = root
  return pointer
    .split('/')
    .slice(1)
    .map(part => {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      const key = Array.isArray(at) ? Number(name) : name
      at = typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined
      return key
    })
}

import { isUuid } from '@berth/platform/kit/uuid.ts'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { maxIssues, type RequestIssue } from './issue.ts'

/** RFC 5321's bound; the account service is stricter where it makes people. */
const isEmail = (text: string) => text.length <= 254 && /^[^@\s]+@[^@\s]+$/.test(text)

/** A day that the calendar has; `Date` would take February 30 for March 2. */
const isDay = (text: string) =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text)

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * Validates a value against a schema and fills in defaults. An empty list means that the value is valid.
 * @param every whether to report every fault instead of the first
 */
export type Validator = (value: unknown, every: boolean) => readonly RequestIssue[]

/** Formats that are checked; `date-time` is named alone, since who reads one judges it. */
export const formats = {
  uuid: isUuid,
  email: isEmail,
  uri: (text: string) => URL.canParse(text),
  byte: (text: string) => text.length % 4 === 0 && base64.test(text),
  date: isDay,
  'date-time': true as const,
}

/** Nothing is removed or coerced, and lengths count code points. */
const options = {
  useDefaults: true,
  coerceTypes: false,
  removeAdditional: false,
  allowUnionTypes: true,
  unicodeRegExp: true,
  formats,
}

const stopping = new Ajv2020(options)
const thorough = new Ajv2020({ ...options, allErrors: true })

/**
 * Returns a validator for a schema. It first stops at the first fault, because each fault costs memory and time: ten
 * million took 11 s and gigabytes. It looks for the other faults only if there is one and the caller wants all.
 *
 * The schema is compiled at the first value: a process meets few of the contract's schemas, and compiling all of them took
 * half a second of its start.
 */
export function lazyValidator(schema: TSchema): Validator {
  const known = validators.get(schema)
  if (known !== undefined) return known
  const validator = makeValidator(schema)
  validators.set(schema, validator)
  return validator
}

/** One for each schema of the process, however many services it starts. */
const validators = new WeakMap<TSchema, Validator>()

function makeValidator(schema: TSchema): Validator {
  let holds: ValidateFunction | undefined
  let judgeAll: ValidateFunction | undefined
  return (value, every) => {
    holds ??= stopping.compile(schema)
    if (holds(value)) return []
    let { errors } = holds
    if (every) {
      judgeAll ??= thorough.compile(schema)
      judgeAll(value)
      errors = judgeAll.errors
    }
    return (errors ?? []).slice(0, maxIssues).map(error => issueOf(error, value))
  }
}

/** Returns a fault as the contract tells it. */
export function issueOf(error: ErrorObject, root: unknown): RequestIssue {
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

/** Converts a JSON pointer to the contract's path: array members by number, object members by name. */
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

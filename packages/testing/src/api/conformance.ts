import {
  browserCodes,
  type ErrorCode,
  type Event,
  type EventType,
  errorCodesOf,
  eventCatalog,
  type Operation,
  operationOf,
} from '@berth/contract'
import { lazyValidator, type Validator } from '@berth/core/http/request/validator.ts'
import { operationsAt } from '@berth/core/http/routing/route-match.ts'
import type { TSchema } from 'typebox'

interface Seen {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly body: unknown
}

const validators = new Map<TSchema, Validator>()

function issuesOf(schema: TSchema, value: unknown): string | null {
  const validator = validators.get(schema) ?? lazyValidator(schema)
  validators.set(schema, validator)
  const issues = validator(value, true)
  return issues.length === 0 ? null : JSON.stringify(issues)
}

/**
 * Checks an answer of the API against its operation in the contract.
 * @throws Error if the contract has no such answer
 */
export function mustConform(seen: Seen): void {
  const fault = faultOf(seen)
  if (fault === null) return
  const { method, path, status, body } = seen
  throw new Error(`no answer of the contract's: ${fault}\n${method} ${path}\n${status} ${JSON.stringify(body)}`)
}

const parameters = ({ path }: Operation): number => path.split('{').length

function faultOf({ method, path, status, body }: Seen): string | null {
  // As in the router, a literal segment wins over a parameter.
  const [row] = operationsAt(path.split('?', 1)[0] ?? '')
    .map(operationOf)
    .filter(candidate => candidate.method === method)
    .sort((one, other) => parameters(one) - parameters(other))
  if (row === undefined || row.access === 'gateway') return null
  return status >= 400
    ? faultOfRefusal(row, path.startsWith('/cloud/') ? browserCodes : [], status, body)
    : faultOfSuccess(row, status, body)
}

/** Refusals of requests that are too broken for the contract to judge. */
const ofProtocol = new Set<unknown>([
  'malformed_request',
  'request_timeout',
  'uri_too_long',
  'request_header_fields_too_large',
])

function faultOfRefusal(row: Operation, more: readonly ErrorCode[], status: number, body: unknown): string | null {
  const code: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined
  return ofProtocol.has(code) || [...errorCodesOf(row), ...more].some(known => known === code)
    ? null
    : `${status} ${code} is not one of its codes`
}

function faultOfSuccess(row: Operation, status: number, body: unknown): string | null {
  const success = row.responses[status]
  if (success === undefined) return `it does not answer ${status}`
  if (success.schema === undefined) return null
  return issuesOf(success.schema, body)
}

/** Type of the Events that tests append themselves (`log-writer.ts`). */
const TEST_TYPE = 'svc.test'

/**
 * Checks an Event against its entry in the catalog.
 * @throws Error if its type, visibility or data does not match
 */
export function mustBeOfCatalog(event: Event): void {
  if (event.type === TEST_TYPE) return
  const kind = Object.hasOwn(eventCatalog, event.type) ? eventCatalog[event.type as EventType] : null
  const fault = kind === null ? 'its type is unknown' : issuesOf(kind.data, event.data)
  const visible = kind === null || event.visibility === kind.visibility
  if (fault !== null || !visible) {
    throw new Error(`no event of the catalog's: ${fault ?? `it is ${event.visibility}`}\n${JSON.stringify(event)}`)
  }
}

import type { ErrorCode, Operation } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { type TObject, Type } from 'typebox'
import { lowerCaseIds } from './canonical-ids.ts'
import { maxIssues, type RequestIssue } from './issue.ts'
import { parseHeaders, parseQuery } from './text-parameters.ts'
import { lazyValidator, type Validator } from './validator.ts'
import { textIssues } from './well-formed.ts'

/** The parts of a request that schemas validate after the guard. */
export interface RequestParts {
  readonly query: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: unknown
  /** Length of the body in bytes; 0 if there is none. */
  readonly bodyBytes: number
}

/** Bodies up to this size are checked for all faults, larger ones only for the first. */
const thoroughBytes = 64 * 1024

/** The same parts, typed, with defaults filled in and ids in lower case. */
export interface ValidParts {
  readonly query: unknown
  readonly headerParams: unknown
  readonly body: unknown
}

const empty = Type.Object({}, { additionalProperties: false })

/** The compiled schemas of one operation's request. */
export class RequestContract {
  readonly #row: Operation
  readonly #params: readonly (readonly [name: string, isValid: Validator])[]
  readonly #query: Validator
  readonly #headers: Validator
  readonly #body: Validator

  constructor(row: Operation) {
    this.#row = row
    this.#params = Object.entries(row.params?.properties ?? {}).map(([name, schema]) => [name, lazyValidator(schema)])
    this.#query = lazyValidator(row.query ?? empty)
    this.#headers = lazyValidator(row.headers ?? Type.Object({}))
    this.#body = lazyValidator(row.body ?? empty)
  }

  /**
   * Returns the path parameters, ids in lower case.
   * @throws ApiError 400 `invalid_path_parameter`, or the operation's own code, with the first invalid parameter
   */
  params(sent: unknown): Readonly<Record<string, unknown>> {
    const params: Record<string, unknown> = typeof sent === 'object' ? { ...sent } : {}
    for (const [parameter, judge] of this.#params) {
      if (judge(params[parameter], false).length > 0 || textIssues(params[parameter]).length > 0) {
        throw refusal(this.#row.inputError ?? 'invalid_path_parameter', { parameter })
      }
    }
    if (this.#row.params !== undefined) lowerCaseIds(params, this.#row.params)
    return params
  }

  /**
   * Validates query, header parameters and body together, so that one answer names every fault. Of a body over 64 KiB
   * it names only the first.
   * @throws ApiError 400 `invalid_request`, or 428 `precondition_required` if nothing but `If-Match` is missing
   */
  parts(sent: RequestParts): ValidParts {
    const query = parseQuery(sent.query, this.#row.query)
    const headers = parseHeaders(sent.headers, this.#row.headers)
    const others = [...query.issues, ...faults(query.values, this.#query), ...this.#bodyFaults(sent)]
    const ofHeaders = faults(headers.values, this.#headers)
    // `If-Match` is the only header that the contract requires.
    const isAbsent = ofHeaders.some(({ path: [name] }) => !Object.hasOwn(headers.values, String(name)))
    if (isAbsent && others.length === 0) throw refusal('precondition_required')
    const issues = [...others, ...ofHeaders]
    if (issues.length > 0) throw refusal(this.#codeOf(issues, sent.body), { issues: issues.slice(0, maxIssues) })
    lowerCase(query.values, this.#row.query)
    lowerCase(sent.body, this.#row.body)
    return {
      query: query.values,
      headerParams: headers.values,
      body: this.#row.body === undefined ? undefined : sent.body,
    }
  }

  /**
   * Returns the error code. An operation's own code covers invalid values, and the code of a member what is wrong in
   * it. An unknown parameter or member is `invalid_request` everywhere, and so is a mixture.
   */
  #codeOf(issues: readonly RequestIssue[], body: unknown): ErrorCode {
    const codes = new Set(issues.map(({ path: [name] }) => this.#codeAt(name, body)))
    const [code = 'invalid_request'] = codes
    return codes.size === 1 ? code : 'invalid_request'
  }

  #codeAt(name: string | number | undefined, body: unknown): ErrorCode | undefined {
    const { query, inputError, bodyErrors } = this.#row
    if (typeof name !== 'string') return 'invalid_request'
    if (bodyErrors !== undefined && hasMember(body, name)) return memberOf(bodyErrors, name)
    return hasMember(query?.properties, name) ? inputError : 'invalid_request'
  }

  #bodyFaults({ body, bodyBytes }: RequestParts): readonly RequestIssue[] {
    if (body === undefined && this.#row.body === undefined) return []
    return faults(body, this.#body, bodyBytes <= thoroughBytes)
  }
}

const faults = (value: unknown, judge: Validator, every = true): readonly RequestIssue[] => {
  const issues = judge(value, every)
  return issues.length > 0 && !every ? issues : [...issues, ...textIssues(value)]
}

const hasMember = (value: unknown, name: string): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)

/** Returns a member by a caller's name, which may be one that every object inherits. */
const memberOf = <Value>(members: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(members, name) ? members[name] : undefined

function lowerCase(value: unknown, schema: TObject | undefined): void {
  if (schema !== undefined) lowerCaseIds(value, schema)
}

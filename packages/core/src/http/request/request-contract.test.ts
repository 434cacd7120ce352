import { type OpenApiDocument, openApiDocument, operationIds, operationOf } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { minimalValue } from '@berth/testing/api/minimal-value.ts'
import { describe, expect, test } from 'vitest'
import { RequestContract } from './request-contract.ts'

const document: OpenApiDocument = openApiDocument()
/** Names that every object inherits, or that mean something to JavaScript. */
const inherited = [...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'name', 'length', 'then']

/** Returns the status and the code with which a request is refused; null if it is not. */
function refusal(judge: () => unknown): string | null {
  try {
    judge()
    return null
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return `${error.status} ${error.code}`
  }
}

/** Returns the value with a member more in each of its objects in turn, as JSON has it: also `__proto__` is a member. */
function* withMember(value: unknown, name: string): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield JSON.parse(`{${[...membersOf(value), `${JSON.stringify(name)}:1`].join(',')}}`)
  for (const [key, inner] of Object.entries(value)) {
    for (const changed of withMember(inner, name)) yield Array.isArray(value) ? [changed] : { ...value, [key]: changed }
  }
}

const membersOf = (value: object): string[] =>
  Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${JSON.stringify(inner)}`)

describe('a member with a name that objects inherit', () => {
  test.each(operationIds.filter(id => operationOf(id).body !== undefined))('is judged as any other by %s', id => {
    const row = operationOf(id)
    const contract = new RequestContract(row)
    const body = minimalValue(document, { ...row.body })
    const judge = (sent: unknown) =>
      refusal(() => contract.parts({ query: '', headers: {}, body: sent, bodyBytes: JSON.stringify(sent).length }))
    const known = [...withMember(body, 'anything')].map(judge)
    expect(known.length).toBeGreaterThan(0)
    for (const name of inherited) {
      const judged = [...withMember(body, name)].map(judge)
      // A name that the contract has is of the wrong type at most.
      expect(judged.map((code, at) => (code === null || /^400 /.test(code) ? null : at))).toEqual(known.map(() => null))
      if (Object.hasOwn(Object.prototype, name)) expect(judged).toEqual(known)
    }
  })

  test.each(operationIds)('is judged as any other in the query of %s', id => {
    const contract = new RequestContract(operationOf(id))
    const judge = (name: string) =>
      refusal(() => contract.parts({ query: `${name}=1`, headers: {}, body: undefined, bodyBytes: 0 }))
    const known = judge('anything')
    for (const name of Object.getOwnPropertyNames(Object.prototype)) expect(judge(name)).toBe(known)
  })
})

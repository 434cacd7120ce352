import { BerthConnectionError, BerthError } from '@berth/client'
import { errors } from '@berth/contract'
import { describe, expect, it } from 'vitest'
import { isPassing, problemOf } from './problem.ts'

const conflicts = Object.entries(errors).flatMap(([code, { status }]) => (status === 409 ? [code] : []))
const refused = (code: string, fields: Record<string, unknown> = {}) =>
  problemOf(new BerthError({ status: 409, code, fields }))

describe('a refusal with the status 409', () => {
  it('says why changes cannot be reviewed in the words of the service', () => {
    const message = 'the changes cannot be taken: Acme, is not a valid attribute name: .gitattributes:1'
    expect(refused('cloud_review_refused', { message })).toEqual({
      title: 'The changes cannot be read',
      advice: 'The changes cannot be taken: Acme, is not a valid attribute name: .gitattributes:1.',
      code: 'cloud_review_refused',
    })
  })

  it('says the reason of the service if its code is unknown', () => {
    const { title, advice } = refused('cloud_of_tomorrow', { message: 'the moon is full' })
    expect(title).toBe('This cannot be done now')
    expect(advice).toBe('The moon is full.')
  })

  it.each([...conflicts, 'cloud_of_tomorrow'])(
    'claims of %s neither that something changed nor that a reload helps',
    code => {
      const { title, advice } = refused(code)
      expect(title).not.toBe('')
      expect(`${title} ${advice}`).not.toMatch(/changed meanwhile|reload/i)
    },
  )
})

describe('trying again', () => {
  it.each([500, 502, 503, 504, 408, 409, 429])('may help after %i', status => {
    expect(isPassing(new BerthError({ status, code: null }))).toBe(true)
  })

  it.each([400, 401, 403, 404, 410, 413, 422])('does not help after %i', status => {
    expect(isPassing(new BerthError({ status, code: null }))).toBe(false)
  })

  it('may help if nothing answered, or if the page itself has a fault', () => {
    expect(isPassing(new BerthConnectionError('https://berth.example', 'no answer'))).toBe(true)
    expect(isPassing(new Error('cannot render'))).toBe(true)
  })
})

import { describe, expect, test } from 'vitest'
import { enteredOf, exposureFaults, exposureText, isComplete, proposalFor, toWrite } from './secret-exposure.ts'

const pin = { name: 'KEY', version: 2 } as const
const egress = {
  hosts: ['api.example.com', '*.example.org'],
  methods: ['GET' as const],
  paths: ['/v1', '/v2'],
  put: { header: 'X-Key', format: 'key {value}' },
  setup: true,
}

describe('the exposure of a secret', () => {
  test.each([
    egress,
    { hosts: ['a.example.com'], put: { basic: { user: '' } } },
    { hosts: ['a.example.com'], put: { query: 'key' } },
  ])('comes back from the form as it went in', rule => {
    expect(toWrite(enteredOf({ ...pin, exposure: 'egress', egress: rule }))).toEqual({
      exposure: 'egress',
      egress: rule,
    })
  })

  test('is a variable for a new secret', () => {
    expect(toWrite(enteredOf(null))).toEqual({ exposure: 'variable' })
    expect(toWrite(enteredOf({ ...pin, exposure: 'variable' }))).toEqual({ exposure: 'variable' })
  })

  test('is proposed where the name tells the service', () => {
    const proposed = proposalFor('STRIPE_API_KEY')
    expect(proposed?.service).toBe('Stripe')
    expect(toWrite(proposed?.fields ?? enteredOf(null))).toEqual({
      exposure: 'egress',
      egress: { hosts: ['api.stripe.com'], put: { header: 'Authorization' } },
    })
    expect(proposalFor('DEPLOY_KEY')).toBeNull()
  })

  test('takes lists with spaces, commas and line breaks, and methods in either case', () => {
    const entered = { ...enteredOf(null), exposure: 'egress' as const, hosts: ' a.org,b.org\n c.org ', methods: 'get' }
    expect(toWrite(entered).egress).toMatchObject({ hosts: ['a.org', 'b.org', 'c.org'], methods: ['GET'] })
    expect([isComplete(entered), isComplete({ ...entered, hosts: ' ' })]).toEqual([true, false])
  })

  test.each([
    [{ hosts: 'API.example.com' }, ['hosts']],
    [{ hosts: 'https://example.com/' }, ['hosts']],
    [{ hosts: '10.0.0.1' }, ['hosts']],
    [{ hosts: '*' }, ['hosts']],
    [{ hosts: Array.from({ length: 17 }, (_, index) => `h${index}.example.com`).join('\n') }, ['hosts']],
    [{ placeName: ' ' }, ['placeName']],
    [{ place: 'basic', placeName: '' }, []],
    [{ format: 'Bearer' }, ['format']],
    [{ format: '{value}:{value}' }, ['format']],
    [{ paths: '/v1 v2' }, ['paths']],
    [{ exposure: 'variable', hosts: '*' }, []],
  ] as const)('is judged while %j is typed', (typed, faults) => {
    const entered = { ...enteredOf({ ...pin, exposure: 'egress', egress }), ...typed }
    expect(Object.keys(exposureFaults(entered))).toEqual(faults)
  })

  test('is told in words', () => {
    expect(exposureText({ ...pin, exposure: 'variable' })).toBe('Variable')
    expect(exposureText({ ...pin, exposure: 'egress', egress })).toBe(
      'At the edge: api.example.com, *.example.org get it in the header X-Key; GET; below /v1, /v2; in setup too',
    )
  })
})

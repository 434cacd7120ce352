import { BerthError } from '@berth/client'
import { describe, expect, test } from 'vitest'
import { emptyDocument, toForm } from './form-values.ts'
import { faultAt, formIssues, refusedBy, remainingIssues, schemaIssues, secretFault } from './issues.ts'

const sound = { ...emptyDocument, name: 'Node' }

describe('the schema of the contract', () => {
  test('finds nothing in a sound document', () => {
    expect(schemaIssues(sound)).toEqual([])
  })

  test.each([
    [{ name: '' }, ['name'], 'must not be empty'],
    [{ name: 'x'.repeat(65) }, ['name'], 'must not have more than 64 characters'],
    [{ setup: 'x'.repeat(65_537) }, ['setup'], 'must not have more than 65536 characters'],
    [{ variables: { '1A': '' } }, ['variables', '1A'], 'needs letters, digits and _, and begins with no digit'],
    [{ variables: { A: 1 } }, ['variables', 'A'], 'must be string'],
    [{ repositories: [{ repository: 'acme' }] }, ['repositories', 0, 'repository'], 'is a repository as `owner/name`'],
    [{ cache: { paths: [''] } }, ['cache', 'paths', 0], 'must not be empty'],
    [{ cache: {} }, ['cache', 'paths'], 'is missing'],
    [{ sets: true }, ['sets'], 'is no member of an environment'],
    [
      { network: { mode: 'listed', hosts: ['10.0.0.1'] } },
      ['network', 'hosts', '0'],
      'is no name such as api.example.com or *.example.com in lower case',
    ],
  ])('names the place and the rule: %j', (part, path, message) => {
    const issues = schemaIssues({ ...sound, ...part })
    expect(issues.length).toBe(1)
    expect(faultAt(issues, ...path)).toBe(message)
  })
})

test('the form names a variable that is listed twice, which no document can say', () => {
  const values = { ...toForm(sound), variables: ['A', 'B', 'A'].map(name => ({ name, value: '' })) }
  expect(formIssues(values)).toEqual([{ path: ['variables', 'A'], message: 'is listed twice' }])
})

describe('a refusal', () => {
  const fields = { issues: [{ path: ['document', 'variables', 'BERTH_A'], message: 'begins with BERTH_' }] }
  const error = new BerthError({ status: 400, code: 'environment_invalid', fields })
  const document = { ...sound, variables: { BERTH_A: '1' } }

  test('stands at its field until that is changed', () => {
    const refused = refusedBy(error, document)
    expect(faultAt(remainingIssues(refused, { ...document, setup: 'true' }), 'variables', 'BERTH_A')).toBe(
      'begins with BERTH_',
    )
    expect(remainingIssues(refused, { ...document, variables: { A: '1' } })).toEqual([])
  })

  test('of another kind says nothing about fields', () => {
    expect(refusedBy(new BerthError({ status: 409, code: 'environment_conflict' }), document)).toBeNull()
  })
})

test.each([
  ['NPM_TOKEN', 'x', {}],
  ['NPM-TOKEN', 'x', { name: expect.stringContaining('letters') }],
  ['A', 'ä'.repeat(16_385), { value: expect.stringContaining('32,770 bytes') }],
])('a secret %s is judged before it is sent', (name, value, faults) => {
  expect(secretFault(name, value)).toEqual(faults)
})

import { hostPattern } from '@berth/contract/egress'
import { expect, test } from 'vitest'
import { policyOf, policyText, readPolicy } from './egress-policy.ts'

const host = new RegExp(hostPattern)
const [web, archived] = ['0b7e8c1e-1111-4222-8333-444455556666', '0b7e8c1e-9999-4222-8333-444455556666']
const known = [
  { id: web, name: 'Web, shop' },
  { id: '0b7e8c1e-2222-4222-8333-444455556666', name: 'release' },
]
const policy = {
  neverHosts: ['paste.example.org', '*.example.net'],
  secretEnvironments: { DEPLOY_KEY: [known[1]?.id ?? '', archived, web], NOBODY: [] },
}

test('a policy comes back from the form as it went in', () => {
  const text = policyText(policy, known)
  expect(text.secrets).toBe(`DEPLOY_KEY: release, ${archived}, ${web}\nNOBODY:`)
  expect(policyOf(readPolicy(text, known, host))).toEqual(policy)
})

test.each([
  ['API.example.org', '', 'hostFault'],
  ['10.0.0.1', '', 'hostFault'],
  ['', 'DEPLOY_KEY', 'secretFault'],
  ['', '1KEY: release', 'secretFault'],
  ['', 'DEPLOY_KEY: nowhere', 'secretFault'],
  ['', 'A: release\nA: release', 'secretFault'],
] as const)('%j and %j are judged while they are typed', (neverHosts, secrets, fault) => {
  const read = readPolicy({ neverHosts, secrets }, known, host)
  expect(['hostFault', 'secretFault'].filter(name => read[name as typeof fault] !== undefined)).toEqual([fault])
})

test('nothing typed is no policy', () => {
  const read = readPolicy({ neverHosts: ' \n', secrets: '\n' }, known, host)
  expect(policyOf(read)).toEqual({ neverHosts: [], secretEnvironments: {} })
  expect([read.hostFault, read.secretFault]).toEqual([undefined, undefined])
})

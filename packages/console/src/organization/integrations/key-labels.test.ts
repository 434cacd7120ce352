import { expect, test } from 'vitest'
import { isFull, keyName, kindFault } from './key-labels.ts'

const key = (kind: 'cloud' | 'ai', id: string) => ({ id, kind, createdAt: '2026-01-01T00:00:00Z' })

test('a key is known by its last characters, and an old one without them still has a name', () => {
  expect([keyName({ kind: 'cloud', hint: 'aB3d' }), keyName({ kind: 'ai' })]).toEqual([
    'svc_cloud_…aB3d',
    'svc_ai_…????',
  ])
})

test.each([
  [[], [], 'cloud', null],
  [[], [], 'ai', 'Its grant does not include calling models.'],
  [[], ['svc.ai.invoke'], 'ai', null],
  [[key('cloud', 'a')], [], 'cloud', null],
  [[key('cloud', 'a'), key('cloud', 'b')], [], 'cloud', 'Two are active. Revoke or replace one.'],
  [[key('cloud', 'a'), key('cloud', 'b')], ['svc.ai.invoke'], 'ai', null],
] as const)('with keys %j and grant %j a key of kind %s: %j', (keys, capabilities, kind, fault) => {
  expect(kindFault(kind, { keys: [...keys], capabilities: [...capabilities] })).toBe(fault)
})

test('it is full once no kind has room', () => {
  const keys = [key('cloud', 'a'), key('cloud', 'b')]
  expect(isFull({ keys, capabilities: [] })).toBe(true)
  expect(isFull({ keys, capabilities: ['svc.ai.invoke'] })).toBe(false)
})

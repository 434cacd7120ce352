import { expect, test } from 'vitest'
import { environmentActions, environmentCan, type Situation } from './environment-can.ts'

const capabilities = ['svc.cloud.sessions:create']
const of = (environment: Situation['environment'], more: Partial<Situation> = {}): readonly string[] =>
  environmentActions.filter(
    action => environmentCan(action, { environment, capabilities, online: true, ...more }).allowed,
  )

test('an environment allows what its state allows', () => {
  const live = ['create', 'save', 'upload', 'writeSecret', 'restore', 'try', 'setDefault', 'clearDefault', 'archive']
  expect(of({ archivedAt: null, isDefault: false })).toEqual(live)
  expect(of({ archivedAt: null, isDefault: true })).toEqual(live.filter(action => action !== 'archive'))
  expect(of({ archivedAt: '2026-01-01T00:00:00Z', isDefault: false })).toEqual(['create', 'clearDefault', 'unarchive'])
  expect(of(null)).not.toContain('writeSecret')
})

test('nothing is allowed without the capability, or offline', () => {
  const environment = { archivedAt: null, isDefault: false }
  expect(of(environment, { capabilities: [] })).toEqual([])
  expect(of(environment, { online: false })).toEqual([])
})

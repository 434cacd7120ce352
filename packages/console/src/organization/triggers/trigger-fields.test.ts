import type { Trigger } from '@berth/contract'
import { expect, test } from 'vitest'
import { fieldsOf, newFields, toBody, triggerFaults } from './trigger-fields.ts'

const trigger: Trigger = {
  id: '0f8fad5b-d9cb-469f-a165-70867728950e',
  installationId: 'i',
  name: 'Slack',
  message: '{{event.text}}',
  session: { runtime: 'native', budget: { costUsd: 2.5 }, source: { grantId: 'g', repositoryId: '7' } },
  thread: ['event.ts'],
  hook: {
    url: 'https://x',
    scheme: 'slack',
    key: { field: 'event_id' },
    where: { 'event.bot_id': null },
    hasSecret: true,
  },
  schedule: { cron: '0 7 * * *', timeZone: 'UTC' },
  deliver: { kind: 'pull_request', draft: true },
  enabled: false,
  createdAt: '2026-01-01T00:00:00Z',
  updatedAt: '2026-01-01T00:00:00Z',
}

test('a trigger keeps what the form does not show', () => {
  const { id, createdAt, updatedAt, hook, ...shown } = trigger
  const { url, hasSecret, ...ownHook } = hook ?? { url: '', hasSecret: true }
  expect(toBody(fieldsOf(trigger), trigger)).toEqual({ ...shown, hook: ownHook })
})

test('events of GitHub tell the repository and the conversation themselves', () => {
  const fields = {
    ...fieldsOf(trigger),
    sender: 'events' as const,
    repositories: 'a/b\n c/d ',
    cron: '',
    forks: true,
  }
  expect(toBody(fields, trigger)).toEqual({
    installationId: 'i',
    name: 'Slack',
    message: '{{event.text}}',
    session: { runtime: 'native', budget: { costUsd: 2.5 } },
    hook: {
      scheme: 'github',
      github: {
        on: ['comment', 'label'],
        mention: '@berth',
        label: 'berth',
        repositories: ['a/b', 'c/d'],
        forks: 'base',
      },
    },
    deliver: { kind: 'pull_request', draft: true },
    enabled: false,
  })
})

test('a form names its faults', () => {
  const fields = { ...newFields(''), on: [], repositories: 'site', budget: '0' }
  expect(Object.keys(triggerFaults(fields)).filter(name => Object(triggerFaults(fields))[name] !== undefined)).toEqual([
    'name',
    'installation',
    'on',
    'budget',
    'repositories',
  ])
})

import { permissions } from '@berth/contract'
import { expect, test } from 'vitest'
import { organizationActions, organizationCan } from './organization-can.ts'

const admin = { role: 'admin', capabilities: [...permissions] }
const member = { role: 'member', capabilities: [] }

/** The refusals with their reasons, as a table. */
const refused = (situation: Parameters<typeof organizationCan>[1]) =>
  Object.fromEntries(
    organizationActions.flatMap(action => {
      const verdict = organizationCan(action, situation)
      return verdict.allowed ? [] : [[action, verdict.reason]]
    }),
  )

test('an administrator may do everything to somebody else', () => {
  expect(refused({ membership: admin, online: true, target: {} })).toEqual({})
})

test('nothing is possible offline', () => {
  expect(new Set(Object.values(refused({ membership: admin, online: false, target: {} })))).toEqual(
    new Set(['You are offline. Reconnect to act.']),
  )
  expect(Object.keys(refused({ membership: admin, online: false, target: {} }))).toEqual([...organizationActions])
})

test('a member without permissions is told what each action takes', () => {
  expect(refused({ membership: member, online: true, target: {} })).toMatchInlineSnapshot(`
    {
      "changeApp": "This needs the permission to manage apps. An administrator can give it to you.",
      "changeCommits": "This is for administrators. Ask one of yours.",
      "changeCompute": "This is for administrators. Ask one of yours.",
      "changeConnections": "This is for administrators. Ask one of yours.",
      "changeFollowUps": "This is for administrators. Ask one of yours.",
      "changeGrant": "This needs the permission to manage integrations. An administrator can give it to you.",
      "changeMember": "This is for administrators. Ask one of yours.",
      "createApp": "This needs the permission to manage apps. An administrator can give it to you.",
      "createIntegration": "This needs the permission to manage integrations. An administrator can give it to you.",
      "createKey": "This needs the permission to manage integrations. An administrator can give it to you.",
      "deleteApp": "This needs the permission to manage apps. An administrator can give it to you.",
      "deleteIntegration": "This needs the permission to manage integrations. An administrator can give it to you.",
      "deleteTrigger": "This needs the permission to manage integrations. An administrator can give it to you.",
      "deleteWebhook": "This needs the permission to manage apps. An administrator can give it to you.",
      "demoteMember": "This is for administrators. Ask one of yours.",
      "invite": "This is for administrators. Ask one of yours.",
      "redeliver": "This needs the permission to manage apps. An administrator can give it to you.",
      "registerAppKey": "This needs the permission to manage apps. An administrator can give it to you.",
      "registerWebhook": "This needs the permission to manage apps. An administrator can give it to you.",
      "removeMember": "This is for administrators. Ask one of yours.",
      "replaceKey": "This needs the permission to manage integrations. An administrator can give it to you.",
      "replayWebhook": "This needs the permission to manage apps. An administrator can give it to you.",
      "resetMember": "This is for administrators. Ask one of yours.",
      "revokeAppKey": "This needs the permission to manage apps. An administrator can give it to you.",
      "revokeInstallation": "This needs the permission to manage integrations. An administrator can give it to you.",
      "revokeKey": "This needs the permission to manage integrations. An administrator can give it to you.",
      "setBudgets": "This is for administrators. Ask one of yours.",
      "testWebhook": "This needs the permission to manage apps. An administrator can give it to you.",
      "withdrawInvitation": "This is for administrators. Ask one of yours.",
      "writeTrigger": "This needs the permission to manage integrations. An administrator can give it to you.",
    }
  `)
})

test('the last administrator stays, and nobody resets themselves', () => {
  const target = { self: true, lastAdministrator: true }
  expect(refused({ membership: admin, online: true, target })).toMatchInlineSnapshot(`
    {
      "demoteMember": "This is the last administrator. Make somebody else one first.",
      "removeMember": "This is the last administrator. Make somebody else one first.",
      "resetMember": "Change your own password on the account page.",
    }
  `)
})

test('a disabled account gets no new password', () => {
  expect(Object.keys(refused({ membership: admin, online: true, target: { disabled: true } }))).toEqual(['resetMember'])
})

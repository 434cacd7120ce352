import { eventCatalog, eventFamilies } from '@berth/contract'
import { expect, test } from 'vitest'
import { webhookTypes } from '../src/index.ts'

test('the families of webhooks and their types are those of the catalog', () => {
  const pushed = Object.entries(eventCatalog).flatMap(([type, { family }]) => (family === null ? [] : [[family, type]]))
  const listed = Object.entries(webhookTypes).flatMap(([family, types]) => types.map(type => [family, type]))
  expect(listed.toSorted()).toEqual(pushed.toSorted())
  expect(Object.keys(webhookTypes)).toEqual(eventFamilies)
})

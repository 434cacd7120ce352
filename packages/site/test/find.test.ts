import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { find, indexOf, type Section } from '../browser/find.js'

const built = join(import.meta.dirname, '../dist/search.json')
const index = indexOf(JSON.parse(readFileSync(built, 'utf8')) as Section[])
const places = (question: string) => find(index, question).map(({ place }) => place)

describe('the search of the documentation', () => {
  test.each([
    ['create api key', /^(?:apps|accounts|cli-reference|concepts)\.html/],
    ['add a model', /^gateway\.html/],
    ['connect github', /^git-hosts\.html/],
    ['forgot password', /^accounts\.html/],
    ['stop a run', /^(?:cli|cli-reference|concepts)\.html/],
    ['cost limit', /^(?:gateway|console)\.html/],
    ['environment secret', /^environments\.html/],
    ['preview port', /^(?:console|hosts)\.html/],
    ['backup', /^(?:production|operations)\.html/],
    ['how long does a sandbox live', /^leases\.html/],
    ['lease', /^leases\.html/],
    ['invite a member', /^accounts\.html/],
    ['approve automatically', /^interactions\.html/],
    ['keyboard shortcuts', /^console\.html/],
  ])('answers %j among the first five', (question, page) => {
    const first = places(question).slice(0, 5)
    expect(
      first.some(place => page.test(place)),
      first.join(' '),
    ).toBe(true)
  })

  test('puts what has every word before what has one of them', () => {
    const found = places('invite a zebra')
    expect(found[0]).toMatch(/^(?:accounts|cli-reference|console)\.html/)
    expect(places('zebra crossing')).toEqual([])
  })

  test('puts no decision before a guide', () => {
    for (const question of ['lease', 'preview port', 'how long does a sandbox live']) {
      const found = places(question).slice(0, 4)
      expect(found.filter(place => place.startsWith('decisions/'))).toEqual([])
    }
  })
})

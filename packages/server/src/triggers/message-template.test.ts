import { expect, it } from 'vitest'
import { fillTemplate } from './message-template.ts'

it('refuses a message that is too long before it is built', () => {
  const template = '{{a}}'.repeat(10_000)
  // Whole, these messages are of 10 GiB.
  expect(fillTemplate(template, { a: 'x'.repeat(2 ** 20) }, 100_000)).toBeNull()
  expect(fillTemplate(template, { a: ['x'.repeat(2 ** 20)] }, 100_000)).toBeNull()
  expect(fillTemplate(template, { a: '🙂'.repeat(10) }, 100_000)).toHaveLength(200_000)
  expect(fillTemplate(template, { a: '🙂'.repeat(11) }, 100_000)).toBeNull()
  expect(fillTemplate(`${template}.`, { a: 'x'.repeat(10) }, 100_000)).toBeNull()
})

it('finds fields of the payload alone', () => {
  const payload = JSON.parse('{"a": {"__proto__": "own", "b": [1, {"c": "{{a}}"}]}, "n": null}')
  const fill = (template: string) => fillTemplate(template, payload, 1_000)
  expect(fill('{{a.__proto__}} {{ a.b.1.c }} {{a.b}} {{n}}|')).toBe('own {{a}} [1,{"c":"{{a}}"}] |')
  expect(fill('{{constructor}}{{a.b.constructor.name}}{{toString}}{{__proto__.a}}{{n.n}}|')).toBe('|')
  expect(fill(`{{${'a.'.repeat(20_000)}a}}{{ a. }}`)).toBe('{{ a. }}')
  expect(fillTemplate('{{a}}', undefined, 10)).toBe('')
})

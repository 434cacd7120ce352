import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { fillScript, fillTemplate } from './message-template.ts'

it('refuses a message that is too long before it is built', () => {
  const template = '{{a}}'.repeat(10_000)
  const tooLong = { kind: 'too_long' }
  // Whole, these messages are of 10 GiB.
  expect(fillTemplate(template, { a: 'x'.repeat(2 ** 20) }, 100_000)).toEqual(tooLong)
  expect(fillTemplate(template, { a: ['x'.repeat(2 ** 20)] }, 100_000)).toEqual(tooLong)
  expect(fillTemplate(template, { a: '🙂'.repeat(10) }, 100_000)).toMatchObject({ message: '🙂'.repeat(100_000) })
  expect(fillTemplate(template, { a: '🙂'.repeat(11) }, 100_000)).toEqual(tooLong)
  expect(fillTemplate(`${template}.`, { a: 'x'.repeat(10) }, 100_000)).toEqual(tooLong)
})

it('finds fields of the payload alone', () => {
  const payload = JSON.parse('{"a": {"__proto__": "own", "b": [1, {"c": "{{a}}"}]}, "n": null}')
  const fill = (template: string) => fillTemplate(template, payload, 1_000)
  expect(fill('{{a.__proto__}} {{ a.b.1.c }} {{a.b}} {{n}}|')).toEqual({
    kind: 'message',
    message: 'own {{a}} [1,{"c":"{{a}}"}] |',
    missing: [],
  })
  const inherited = ['constructor', 'a.b.constructor.name', 'toString', '__proto__.a', 'n.n']
  expect(fill(`${inherited.map(path => `{{${path}}}`).join('')}|`)).toMatchObject({ message: '|', missing: inherited })
  expect(fill(`{{${'a.'.repeat(20_000)}a?}}{{ a. }}`)).toMatchObject({ message: '{{ a. }}', missing: [] })
  expect(fillTemplate('{{a}}{{b?}}{{a}}', undefined, 10)).toMatchObject({ message: '', missing: ['a'] })
})

it.each(['{{a}}', '"{{a}}"', "'{{a}}'", '$(echo {{a}})', '`echo {{a}}`', '<<E\n{{a}}\nE', 'x{{a}}{{b?}}{{a}}'])(
  'never lets a shell run what a field holds, in a script with %s',
  place => {
    const hostile = `'; echo ran; $(echo ran)\`echo ran\`" ; echo ran #\\'"'"'\n echo ran\n`
    const filled = fillScript(`set -eu\ncat ${place.startsWith('<<') ? place : `<<<x${place}`}`, { a: hostile }, 10_000)
    if (filled.kind !== 'message') throw new Error(filled.kind)
    expect(spawnSync('bash', ['-x', '-c', filled.message], { encoding: 'utf8' }).stderr).not.toMatch(/^\++ echo ran$/m)
  },
)

it('gives a script each field as it is, once', () => {
  const value = `it's "two"  lines\n$HOME`
  const filled = fillScript('printf %s "{{a}}|{{b.c}}|{{a}}|{{d?}}"', { a: value, b: { c: [1] } }, 10_000)
  if (filled.kind !== 'message') throw new Error(filled.kind)
  expect(spawnSync('bash', ['-c', filled.message], { encoding: 'utf8' }).stdout).toBe(`${value}|[1]|${value}|`)
  expect(fillScript('{{a}}', { a: 'x'.repeat(100) }, 100)).toEqual({ kind: 'too_long' })
  expect(fillScript('{{a}}', {}, 100)).toMatchObject({ missing: ['a'] })
})

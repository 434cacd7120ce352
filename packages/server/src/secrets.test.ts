import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Redactor } from './secrets.ts'

describe('a redactor', () => {
  it('takes known secrets out of text, keys and nested values', () => {
    const redactor = new Redactor()
    redactor.add('hunter2-hunter2')
    expect(redactor.value({ 'x hunter2-hunter2': [{ a: 'say hunter2-hunter2!' }, 3, null] })).toEqual({
      'x [secret]': [{ a: 'say [secret]!' }, 3, null],
    })
  })

  it('knows our own credentials by their form', () => {
    const key = `svc_cloud_live_${'a1B-_'.repeat(9)}`
    expect(new Redactor().text(`key=${key};`)).toBe('key=[secret];')
  })

  it('takes a secret that contains another whole', () => {
    const redactor = new Redactor()
    redactor.add('password', 'password-of-the-house')
    expect(redactor.text('is password-of-the-house')).toBe('is [secret]')
  })

  it('forgets a secret when its last holder lets go', () => {
    const redactor = new Redactor()
    const first = redactor.add('temporary-token')
    const second = redactor.add('temporary-token')
    first[Symbol.dispose]()
    expect(redactor.text('temporary-token')).toBe('[secret]')
    second[Symbol.dispose]()
    expect(redactor.text('temporary-token')).toBe('temporary-token')
  })

  it('holds a secret once for each handle, however often one is disposed of', () => {
    const redactor = new Redactor()
    const first = redactor.add('temporary-token')
    redactor.add('temporary-token')
    first[Symbol.dispose]()
    first[Symbol.dispose]()
    expect(redactor.text('temporary-token')).toBe('[secret]')
  })

  it.each([
    ['a string of JSON', JSON.stringify],
    ['a string of JSON within another', (text: string) => JSON.stringify(JSON.stringify(text))],
    ['a log line', (text: string) => JSON.stringify({ msg: `it is ${text}!` })],
    ['the answer of a shell, which drops the last line break', (text: string) => text.trimEnd()],
    ['an indented listing', (text: string) => text.replaceAll(/^/gm, '   1\t')],
  ])('finds a secret in %s', (_, write) => {
    const secrets = [
      'quote"back\\slash',
      'tab\tand\u0001control',
      '-----BEGIN KEY-----\nMIIabcdef"0123\nghijklmnop\n-----END-----\n',
    ]
    const redactor = new Redactor()
    redactor.add(...secrets)
    for (const secret of secrets) {
      const shown = redactor.text(write(secret))
      expect(shown).toContain('[secret]')
      expect(shown).not.toMatch(/quote|slash|control|MII|ghij/)
    }
  })

  it('takes out what is left of a secret where a text was cut, at either end', () => {
    const redactor = new Redactor()
    redactor.add('abcdefgh-abcdefgh-12345678')
    expect(redactor.cutText('it is abcdefgh-abcdefg')).toBe('it is [secret]')
    expect(redactor.cutText('it is abcdefg')).toBe('it is abcdefg')
    expect(redactor.cutText('efgh-12345678 it is')).toBe('[secret] it is')
    expect(redactor.cutText('12345678')).toBe('[secret]')
    expect(redactor.cutText('2345678 it is')).toBe('2345678 it is')
    expect(redactor.cutText(`key svc_cloud_live_${'a'.repeat(9)}`)).toBe('key [secret]')
  })

  it('never makes a text longer', () => {
    const redactor = new Redactor()
    redactor.add('12345678', 'ein Schlüssel')
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('12345678', 'ein Schlüssel', ' ', 'svc_ai_live_0123456789abcdef')),
        parts => {
          const text = parts.join('')
          return Buffer.byteLength(redactor.cutText(text)) <= Buffer.byteLength(text)
        },
      ),
    )
  })

  it('never shows a part of a secret that can be told, wherever a text is cut', () => {
    const secret = 'kA9$x.(z|w)[q]+"\\2 7f'
    const redactor = new Redactor()
    redactor.add(secret)
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.nat(60), fc.boolean(), (before, after, at, keepsStart) => {
        const text = `${before}${secret}${after}`
        const shown = redactor.cutText(keepsStart ? text.slice(0, at) : text.slice(at))
        const place = at - before.length
        const left = keepsStart ? secret.slice(0, Math.max(0, place)) : secret.slice(Math.max(0, place))
        return left.length < 8 || !shown.includes(left)
      }),
    )
  })
})

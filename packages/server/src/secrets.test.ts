import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Redactor } from './secrets.ts'

describe('a redactor', () => {
  it('takes known secrets out of text, keys and nested values', () => {
    const redactor = new Redactor()
    redactor.add('hunter2-hunter2')
    expect(redactor.value({ 'x hunter2-hunter2': [{ a: 'say hunter2-hunter2!' }, 3, null] })).toEqual({
      'x [redacted]': [{ a: 'say [redacted]!' }, 3, null],
    })
  })

  it('knows our own credentials by their form', () => {
    const key = `svc_cloud_live_${'a1B-_'.repeat(9)}`
    expect(new Redactor().text(`key=${key};`)).toBe('key=[redacted];')
  })

  it('takes a secret that contains another whole', () => {
    const redactor = new Redactor()
    redactor.add('password', 'password-of-the-house')
    expect(redactor.text('is password-of-the-house')).toBe('is [redacted]')
  })

  it('forgets a secret when its last holder lets go', () => {
    const redactor = new Redactor()
    const first = redactor.add('temporary-token')
    const second = redactor.add('temporary-token')
    first[Symbol.dispose]()
    expect(redactor.text('temporary-token')).toBe('[redacted]')
    second[Symbol.dispose]()
    expect(redactor.text('temporary-token')).toBe('temporary-token')
  })

  it('never shows eight characters of a secret, wherever a text is cut', () => {
    const secret = 'kA9$x.(z|w)[q]+"\\2 7f'
    const redactor = new Redactor()
    redactor.add(secret)
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.nat(60), (before, after, cut) => {
        const shown = redactor.cutText(`${before}${secret}${after}`.slice(0, cut))
        for (let start = 0; start + 8 <= secret.length; start += 1) {
          if (shown.includes(secret.slice(0, 8))) return false
        }
        return true
      }),
    )
  })
})

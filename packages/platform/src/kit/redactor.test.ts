import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMaskedByForm, ownCredentials, ProcessSecrets, Redactor } from './redactor.ts'

describe('a redactor', () => {
  it('masks secrets in text, keys and nested values', () => {
    const redactor = new Redactor(['hunter2-hunter2'])
    expect(redactor.value({ 'x hunter2-hunter2': [{ a: 'say hunter2-hunter2!' }, 3, null] })).toEqual({
      'x [secret]': [{ a: 'say [secret]!' }, 3, null],
    })
  })

  it('drops values that are nested too deep', () => {
    let deep: unknown = 'hunter2-hunter2'
    for (let depth = 0; depth < 200_000; depth += 1) deep = [deep]
    expect(JSON.stringify(new Redactor(['hunter2-hunter2']).value({ deep }))).not.toContain('hunter2')
  })

  it('masks our own credentials by their form', () => {
    const key = `svc_cloud_live_${'a1B-_'.repeat(9)}`
    expect(ownCredentials.text(`key=${key};`)).toBe('key=[secret];')
  })

  it("masks GitHub's tokens by their form, as they are and as git sends them", () => {
    const letters = 'a1B2'.repeat(9)
    const tokens = [
      ...['p', 'o', 'u', 's', 'r'].map(kind => `gh${kind}_${letters}`),
      `ghs_123_eyJhbGciOiJ9.eyJpc3MiOiJ9.${letters}-_`,
      `github_pat_${letters.slice(0, 22)}_${letters}${letters.slice(0, 23)}`,
      Buffer.from(`x-access-token:ghs_${letters}`).toString('base64'),
    ]
    for (const token of tokens) {
      expect(ownCredentials.text(`it is ${token}, say`)).toBe('it is [secret], say')
      expect(isMaskedByForm(token)).toBe(true)
    }
    const words = 'laughs_and_the_world_laughs_with_you ghs_short highs_1234567890abcdef'
    expect(ownCredentials.text(words)).toBe(words)
    expect(isMaskedByForm(`ghs_1_eyJ.a.${'b'.repeat(200)}`)).toBe(false)
  })

  it('masks the whole of a secret that contains another', () => {
    const redactor = new Redactor(['password', 'password-of-the-house'])
    expect(redactor.text('is password-of-the-house')).toBe('is [secret]')
  })

  it('finds a secret in the name of a host, which has lost its case', () => {
    const redactor = new Redactor(['AValue-Of-Letters'])
    expect(redactor.anyCase('avalue-of-letters.example.org')).toBe('[secret].example.org')
    expect(redactor.text('avalue-of-letters.example.org')).toBe('avalue-of-letters.example.org')
  })

  it('leaves values alone that are too short to be secrets', () => {
    expect(new Redactor(['seven77']).text('seven77')).toBe('seven77')
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
    const redactor = new Redactor(secrets)
    for (const secret of secrets) {
      const shown = redactor.text(write(secret))
      expect(shown).toContain('[secret]')
      expect(shown).not.toMatch(/quote|slash|control|MII|ghij/)
    }
  })

  it.each([
    ['alone', '', ''],
    ['as `echo` writes it', '', '\n'],
    ['behind a name', 'user:', ''],
    ['behind one character', ':', ':'],
    ['behind two', '::', '::'],
    ['behind three', ':::', '\n'],
  ])('finds a secret in base64 %s', (_, before, behind) => {
    const secrets = ['eight888', 'nine99999', 'ten10101010', 'ÿûþ~~?>>?ÿÿÿ']
    const redactor = new Redactor(secrets)
    for (const secret of secrets) {
      for (const encoding of ['base64', 'base64url'] as const) {
        const encoded = Buffer.from(`${before}${secret}${behind}`).toString(encoding)
        const shown = redactor.text(encoded)
        expect(shown, encoded).toContain('[secret]')
        // What is left are characters of the neighbours, which a byte of the value may share.
        const left = Math.ceil((Buffer.byteLength(before) + Buffer.byteLength(behind)) / 3) * 4 + 4
        expect(shown.length, encoded).toBeLessThanOrEqual('[secret]'.length + left)
      }
    }
    expect(redactor.text('an eighth, ninety-nine, and a tenth')).toBe('an eighth, ninety-nine, and a tenth')
  })

  it('does not mask part of a secret at either end of a text', () => {
    const secret = 'sk-proj-kA9$x.(z|w)[q]+"\\2 7f'
    const redactor = new Redactor([secret])
    for (let at = 1; at < secret.length; at += 1) {
      for (const part of [secret.slice(0, at), secret.slice(at)]) {
        for (const text of [part, `it is ${part}`, `${part} it is`]) expect(redactor.value([text])).toEqual([text])
      }
    }
  })

  it('never makes a text longer', () => {
    const redactor = new Redactor(['12345678', 'ein Schlüssel'])
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('12345678', 'ein Schlüssel', ' ', 'svc_ai_live_0123456789abcdef')),
        parts => {
          const text = parts.join('')
          return Buffer.byteLength(redactor.text(text)) <= Buffer.byteLength(text)
        },
      ),
    )
  })
})

describe('text in pieces', () => {
  const secrets = ['abcdefgh', 'abcdefgh-12345678', `line-one-of-it\n${'line-two-'.repeat(30)}`]
  const redactor = new Redactor(secrets)
  const words = fc.constantFrom(
    ...secrets,
    'abcdefgh-1234',
    'line-one-of-it',
    ' ',
    `svc_run_${'k'.repeat(43)}`,
    'x'.repeat(300),
  )

  it('is masked like the whole text, however it is divided', () => {
    fc.assert(
      fc.property(fc.array(words), fc.array(fc.integer({ min: 1, max: 700 })), (parts, lengths) => {
        const text = parts.join('')
        const stream = redactor.stream()
        let masked = ''
        let at = 0
        for (const length of [...lengths, text.length]) {
          masked += stream.push(text.slice(at, at + length))
          at += length
        }
        return masked + stream.end() === redactor.text(text)
      }),
    )
  })

  it('is told while the rest is awaited, as far as no further piece can change it', () => {
    // A form without an end of its own would go on into the next word, as far as that is there already.
    const ended = words.map(word => ` ${word} `)
    fc.assert(
      fc.property(fc.array(ended), fc.array(fc.integer({ min: 1, max: 700 })), (parts, lengths) => {
        const text = parts.join('')
        const stream = redactor.stream()
        let masked = ''
        let at = 0
        for (const length of [...lengths, text.length]) {
          masked += stream.push(text.slice(at, at + length)) + stream.settled()
          at += length
        }
        return masked + stream.end() === redactor.text(text)
      }),
    )
    const stream = redactor.stream()
    expect([stream.push('a line\n'), stream.settled()]).toEqual(['', 'a line\n'])
    expect([stream.push('abcdefg'), stream.settled(), stream.push('.'), stream.settled()]).toEqual([
      '',
      '',
      '',
      'abcdefg.',
    ])
    expect([stream.push('svc_ru'), stream.settled(), stream.push('le'), stream.end()]).toEqual(['', '', '', 'svc_rule'])
  })

  it('is masked before it is cut, so its beginning never ends within a secret', () => {
    fc.assert(
      fc.property(fc.array(words), fc.integer({ min: 1, max: 900 }), (parts, length) => {
        const text = parts.join('')
        const whole = redactor.text(text)
        const beginning = redactor.beginning(text, length)
        return whole.startsWith(beginning) && (beginning === whole || beginning.length > length)
      }),
    )
  })

  it('loses as many characters of a cut end as the longest secret has, or none without secrets', () => {
    const [, , long = ''] = secrets
    const cut = `${'x'.repeat(100)}${long.slice(0, -1)}`
    expect(redactor.beginning(cut, 10_000)).toContain('line-two')
    expect(redactor.beginning(cut, 10_000, true)).not.toContain('line')
    expect(ownCredentials.beginning(cut, 10_000, true)).toBe(cut)
  })
})

describe('the secrets of a process', () => {
  it('are forgotten when their last handle is disposed of', () => {
    const known = new ProcessSecrets()
    const first = known.add('temporary-token')
    const second = known.add('temporary-token')
    first[Symbol.dispose]()
    expect(known.text('temporary-token')).toBe('[secret]')
    second[Symbol.dispose]()
    expect(known.text('temporary-token')).toBe('temporary-token')
  })

  it('count each handle once, however often it is disposed of', () => {
    const known = new ProcessSecrets()
    const first = known.add('temporary-token')
    known.add('temporary-token')
    first[Symbol.dispose]()
    first[Symbol.dispose]()
    expect(known.text('temporary-token')).toBe('[secret]')
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MasterKey, parseMasterKey, UnsealError } from './master-key.ts'

const key = new MasterKey(Buffer.alloc(32, 7))

describe('sealing', () => {
  test('a sealed secret opens in its context and reveals nothing before', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8 }), fc.string(), (secret, context) => {
        const sealed = key.seal(secret, context)
        expect(sealed.includes(secret)).toBe(false)
        expect(key.open(sealed, context).toString()).toBe(Buffer.from(secret).toString())
        expect(() => key.open(sealed, `${context}x`)).toThrow(UnsealError)
      }),
    )
  })

  test('refuses a secret with any changed byte or any cut', () => {
    const sealed = key.seal('secret', 'here')
    for (let index = 0; index < sealed.length; index += 1) {
      const altered = Buffer.from(sealed)
      altered.writeUInt8(altered.readUInt8(index) ^ 1, index)
      expect(() => key.open(altered, 'here')).toThrow(UnsealError)
      expect(() => key.open(sealed.subarray(0, index), 'here')).toThrow(UnsealError)
    }
  })

  test('the same secret is sealed differently each time', () => {
    expect(key.seal('secret', 'here').equals(key.seal('secret', 'here'))).toBe(false)
  })

  test('an error names another key by its id', () => {
    const other = new MasterKey(Buffer.alloc(32, 8))
    expect(() => other.open(key.seal('secret', 'here'), 'here')).toThrow(
      `sealed under master key ${key.id}, this one is ${other.id}`,
    )
  })
})

test('keys are read from base64, base64url and hexadecimal digits of 32 bytes', () => {
  const bytes = Buffer.alloc(32, 0xfb)
  for (const encoding of ['base64', 'base64url', 'hex'] as const) {
    expect(parseMasterKey(bytes.toString(encoding))?.equals(bytes)).toBe(true)
  }
  for (const text of ['', 'short', 'a'.repeat(63), Buffer.alloc(31).toString('base64'), `${bytes.toString('hex')}\n`]) {
    expect(parseMasterKey(text)).toBeUndefined()
  }
})

test('what is derived follows from the key and the purpose alone', () => {
  const derived = key.derive('lease/1/authority')
  expect(derived).toHaveLength(32)
  expect(new MasterKey(Buffer.alloc(32, 7)).derive('lease/1/authority').equals(derived)).toBe(true)
  expect(key.derive('lease/2/authority').equals(derived)).toBe(false)
  expect(new MasterKey(Buffer.alloc(32, 8)).derive('lease/1/authority').equals(derived)).toBe(false)
  // The name of a key that seals is no purpose that gives it away.
  expect(key.derive('seal').equals(key.derive('digest'))).toBe(false)
  const opened = () => new MasterKey(key.derive('seal')).open(key.seal('secret', 'here'), 'here')
  expect(opened).toThrow(UnsealError)
})

import { createECDH, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { SubscribedBrowser } from '../../../test/support/push/subscribed-browser.ts'
import { encryptPush, isPublicKey } from './encrypt.ts'

const bytes = (text: string) => Buffer.from(text, 'base64url')

/** RFC 8291, appendix A. */
const example = {
  message: Buffer.from('When I grow up, I want to be a watermelon'),
  receiver: 'q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94',
  p256dh: bytes('BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'),
  auth: bytes('BTBZMqHH6r4Tts7J_aSIgg'),
  privateKey: bytes('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw'),
  salt: bytes('DGv6ra1nlYgDCS1FRnbzlw'),
  encrypted:
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
}

test('the example of RFC 8291 comes out byte for byte', () => {
  const { privateKey, salt } = example
  const encrypted = encryptPush(example.message, example, { privateKey, salt, padding: 0 })
  expect(encrypted.toString('base64url')).toBe(example.encrypted)
})

test('a browser reads what was encrypted to it, and the length tells nothing', () => {
  const { p256dh, auth, receiver } = example
  const browser = new SubscribedBrowser(bytes(receiver), auth)
  const [short, long] = ['{}', JSON.stringify({ title: '🔔'.repeat(160) })]
  const [first, second] = [short, long].map(text => encryptPush(Buffer.from(text), { p256dh, auth }))
  expect(browser.read(first as Buffer)).toBe(short)
  expect(browser.read(second as Buffer)).toBe(long)
  expect(first?.length).toBe(second?.length)
  expect(encryptPush(Buffer.from(short), { p256dh, auth }).equals(first as Buffer)).toBe(false)
})

test('what a push service would refuse is not made', () => {
  expect(() => encryptPush(Buffer.alloc(3994), example)).toThrow(RangeError)
  expect(encryptPush(Buffer.alloc(3993), example)).toHaveLength(4096)
})

test('a key that is no point of the curve is told apart', () => {
  expect(isPublicKey(example.p256dh)).toBe(true)
  expect(isPublicKey(Buffer.concat([Buffer.of(4), randomBytes(64)]))).toBe(false)
  expect(isPublicKey(Buffer.alloc(65))).toBe(false)
  const own = createECDH('prime256v1')
  own.generateKeys()
  expect(isPublicKey(own.getPublicKey(null, 'compressed'))).toBe(false)
})

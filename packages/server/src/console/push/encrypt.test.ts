import { createECDH, randomBytes } from 'node:crypto'
import { SubscribedBrowser } from '@berth/testing/push/subscribed-browser.ts'
import { expect, test } from 'vitest'
import { encryptPush, isPublicKey } from './encrypt.ts'

const bytes = (text: string) => Buffer.from(text, 'base64url')

/** RFC 8291, appendix A. */
const example = {
  message: Buffer.from('When I grow up, I want to be a watermelon'),
  receiver: 'q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94',
  p256dh: bytes('BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'),
  auth: bytes('BTBZMqHH6r4Tts7J_aSIgg'),
  encrypted:
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
}

const browser = new SubscribedBrowser(bytes(example.receiver), example.auth)

test('a browser reads the example of RFC 8291, and a message that was encrypted to it alike', async () => {
  expect(browser.read(bytes(example.encrypted))).toBe(String(example.message))
  expect(browser.read(Buffer.from(await encryptPush(example.message, example)))).toBe(String(example.message))
})

test('the length of what was encrypted tells nothing, and no message is encrypted twice alike', async () => {
  const texts = ['{}', '{}', JSON.stringify({ title: '🔔'.repeat(160) })]
  const encrypted = await Promise.all(
    texts.map(async text => Buffer.from(await encryptPush(Buffer.from(text), example))),
  )
  expect(encrypted.map(each => browser.read(each))).toEqual(texts)
  expect(new Set(encrypted.map(({ length }) => length))).toEqual(new Set([4096]))
  expect(new Set(encrypted.map(each => each.toString('hex'))).size).toBe(3)
})

test('what a push service would refuse is not made', async () => {
  await expect(encryptPush(Buffer.alloc(3994), example)).rejects.toThrow('maximum')
  expect(await encryptPush(Buffer.alloc(3993), example)).toHaveLength(4096)
})

test('a key that is no point of the curve is told apart', () => {
  expect(isPublicKey(example.p256dh)).toBe(true)
  expect(isPublicKey(Buffer.concat([Buffer.of(4), randomBytes(64)]))).toBe(false)
  expect(isPublicKey(Buffer.alloc(65))).toBe(false)
  const own = createECDH('prime256v1')
  own.generateKeys()
  expect(isPublicKey(own.getPublicKey(null, 'compressed'))).toBe(false)
  expect(isPublicKey(own.getPublicKey(null, 'hybrid'))).toBe(false)
})

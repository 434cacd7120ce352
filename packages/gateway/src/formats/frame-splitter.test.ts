import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FrameSplitter, FrameTooLarge, frameData } from './frame-splitter.ts'

test('a splitter yields the same frames however the bytes are chunked', () => {
  const frames = fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.constantFrom('\n', '\r\n', '\r')), {
    maxLength: 6,
  })
  fc.assert(
    fc.property(frames, fc.array(fc.nat(40), { maxLength: 30 }), (sent, cuts) => {
      const texts = sent.map(([text, end]) => `event: a${end}data: ${JSON.stringify(text)}${end}${end}`)
      let rest = Buffer.from(texts.join(''))
      const splitter = new FrameSplitter(10_000)
      const seen: Buffer[] = []
      for (const cut of cuts) {
        seen.push(...splitter.push(rest.subarray(0, cut)))
        rest = rest.subarray(cut)
      }
      seen.push(...splitter.push(rest))
      expect(seen.map(String)).toEqual(texts)
      expect(seen.map(frame => JSON.parse(frameData(frame)))).toEqual(sent.map(([text]) => text))
    }),
  )
})

test('a splitter refuses a frame that exceeds the limit', () => {
  const splitter = new FrameSplitter(10)
  expect(() => splitter.push(Buffer.from('data: 0123456789'))).toThrow(FrameTooLarge)
})

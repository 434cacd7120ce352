import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FrameReader, parseEvent } from '../src/frames.ts'
import type { Event } from '../src/index.ts'
import { eventAt, frame } from './scripted-api.ts'

const encode = (text: string) => new TextEncoder().encode(text)

/** Cuts bytes at arbitrary positions, even inside a character or between CR and LF. */
function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const places = [...new Set(at.map(place => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((start, i) => bytes.subarray(start, places[i] ?? bytes.length))
}

function readAll(reader: FrameReader<Event>, chunks: readonly Uint8Array[]): Event[] {
  return chunks.flatMap(chunk => reader.feed(chunk))
}

test('any text, with any line ending, cut anywhere, is read as the Events that were sent', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', '\n', '\r', '\u2028', 'é', '漢', '👩‍🚀', ':', ' ', '"', '\\', '\u0000'),
  })
  fc.assert(
    fc.property(
      fc.array(fc.record({ text, comment: fc.boolean() }), { maxLength: 8 }),
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.array(fc.nat(), { maxLength: 40 }),
      fc.boolean(),
      (items, lineEnd, places, mark) => {
        const events = items.map((item, i) => eventAt(i + 1, { data: { text: item.text } }))
        const stream = items
          .map((item, i) => (item.comment ? ': alive\n\n' : '') + frame(events[i] ?? eventAt(0)))
          .join('')
          .replaceAll('\n', lineEnd)
        const bytes = encode(`${mark ? '\uFEFF' : ''}${stream}`)
        expect(readAll(new FrameReader(parseEvent), [...cut(bytes, places), encode(lineEnd)])).toEqual(events)
      },
    ),
  )
})

test('a frame cut off by the end is not returned, wherever it is cut', () => {
  const event = eventAt(1, { data: { text: 'naïve' } })
  const bytes = encode(frame(event))
  for (let length = 0; length < bytes.length - 1; length++) {
    expect(new FrameReader(parseEvent).feed(bytes.subarray(0, length))).toEqual([])
  }
  expect(new FrameReader(parseEvent).feed(bytes)).toEqual([event])
})

test('frames that are not Events are skipped', () => {
  const stray =
    'data: not json\n\ndata: [1]\n\ndata: null\n\ndata: {"sequence":"1","type":"x"}\n\nevent: ping\ndata\n\nid: 4\n\n'
  expect(new FrameReader(parseEvent).feed(encode(`${stray}${frame(eventAt(7))}`))).toEqual([eventAt(7)])
})

test('retry is read, and an invalid value is ignored', () => {
  const reader = new FrameReader(parseEvent)
  expect(reader.retryMs).toBeNull()
  reader.feed(encode('retry: 750\n\nretry: soon\n\n'))
  expect(reader.retryMs).toBe(750)
})

test('an endless frame does not fill the memory', () => {
  const reader = new FrameReader(parseEvent)
  reader.feed(encode('data: '))
  const megabyte = encode('x'.repeat(1024 * 1024))
  expect(() => {
    for (let i = 0; i < 32; i++) reader.feed(megabyte)
  }).toThrow(/buffer size/)
})

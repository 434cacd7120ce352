import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { attachment } from './artifact.ts'
import { cutRange, readRange } from './byte-range.ts'

describe('a range header', () => {
  it.each([
    [undefined, null],
    ['bytes=0-4', { start: 0, end: 4 }],
    ['bytes=5-', { start: 5, end: 9 }],
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-30', { start: 0, end: 9 }],
    ['bytes=8-100', { start: 8, end: 9 }],
    ['Bytes=0-0', { start: 0, end: 0 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=4-2', null],
    ['bytes=0-1,3-4', null],
    ['bytes=-', null],
    ['items=0-1', null],
    ['bytes=a-b', null],
  ] as const)('reads %s of ten bytes as %j', (header, range) => {
    expect(readRange(header, 10)).toEqual(range)
  })

  it('cuts across pieces and stops reading after the range', async () => {
    let pieces = 0
    const whole = async function* () {
      for (const piece of ['abc', 'def', 'ghi', 'never']) {
        pieces += 1
        yield Buffer.from(piece)
      }
    }
    expect(await text(Readable.from(cutRange(whole(), { start: 2, end: 6 })))).toBe('cdefg')
    expect(pieces).toBe(3)
  })
})

describe('the name of a download', () => {
  it.each([
    ['report.txt', `attachment; filename="report.txt"; filename*=UTF-8''report.txt`],
    ['a"b\r\nX: y', `attachment; filename="a_b__X__y"; filename*=UTF-8''a%22b%0D%0AX%3A%20y`],
    ['täglich.txt', `attachment; filename="ta_glich.txt"; filename*=UTF-8''t%C3%A4glich.txt`],
    ["it's (1)*!", `attachment; filename="it_s__1___"; filename*=UTF-8''it%27s%20%281%29%2A%21`],
  ])('cannot break out of its header: %j', (name, header) => {
    expect(attachment(name)).toBe(header)
  })
})

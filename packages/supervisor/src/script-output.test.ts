import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_OUTPUT_BYTES, MAX_SUMMARY_BYTES, MAX_SUMMARY_LINES, ScriptOutput } from './script-output.ts'

function outputOf(...chunks: readonly (Buffer | string)[]): ScriptOutput {
  const output = new ScriptOutput()
  for (const chunk of chunks) output.push(Buffer.from(chunk))
  return output
}

test('output at the limit is whole, and one byte more is cut', () => {
  const full = 'x'.repeat(MAX_OUTPUT_BYTES)
  expect(outputOf(full).text()).toEqual({ text: full, truncated: false })
  expect(outputOf(full, 'y').text()).toEqual({ text: full, truncated: true })
  const before = 'x'.repeat(MAX_OUTPUT_BYTES - 2)
  expect(outputOf(`${before}é`).text()).toEqual({ text: `${before}é`, truncated: false })
  expect(outputOf(before, '字').text()).toEqual({ text: before, truncated: true })
})

test('the summary contains the last lines, up to the limit', () => {
  const lines = Array.from({ length: 5000 }, (_, i) => `line ${i}`)
  expect(outputOf(`${lines.join('\n')}\n\n`).summary()).toBe(lines.slice(-MAX_SUMMARY_LINES).join('\n'))
  expect(outputOf('only\n').summary()).toBe('only')
  expect(outputOf('\n\n').summary()).toBe('')
  expect(outputOf().summary()).toBe('')
})

test('the summary contains whole lines if they fit, and the end of one line that does not', () => {
  const long = 'é'.repeat(1500)
  expect(outputOf(`${long}\n${long}\nlast`).summary()).toBe(`${long}\nlast`)
  expect(outputOf(`first\n${'é'.repeat(9000)}`).summary()).toBe('é'.repeat(MAX_SUMMARY_BYTES / 2))
})

test('isSummaryCut is true if the summary begins within a line', () => {
  for (const [printed, isCut] of [
    ['a line', false],
    ['x'.repeat(MAX_SUMMARY_BYTES), false],
    ['x'.repeat(MAX_SUMMARY_BYTES + 1), true],
    [`${'x'.repeat(9000)}\nlast`, false],
    [`${'x\n'.repeat(9000)}last`, false],
    [`${'x'.repeat(9000)}${'\n'.repeat(MAX_SUMMARY_BYTES * 2 - 10)}`, true],
  ] as const) {
    expect([printed.length, outputOf(printed).isSummaryCut]).toEqual([printed.length, isCut])
  }
})

test('any output, in any pieces, stays within the bounds and becomes valid text', () => {
  const chunk = fc.oneof(fc.uint8Array({ maxLength: 9000 }), fc.string({ unit: 'binary', maxLength: 3000 }))
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 20 }), chunks => {
      const pieces = chunks.map(piece => Buffer.from(piece))
      const output = outputOf(...pieces)
      const whole = outputOf(Buffer.concat(pieces))
      const { text } = output.text()
      const summary = output.summary()
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_OUTPUT_BYTES)
      expect(Buffer.byteLength(summary)).toBeLessThanOrEqual(MAX_SUMMARY_BYTES)
      expect(summary.split('\n').length).toBeLessThanOrEqual(MAX_SUMMARY_LINES)
      expect(text + summary).not.toMatch(/\0/)
      expect(text.isWellFormed() && summary.isWellFormed()).toBe(true)
      expect([text, summary]).toEqual([whole.text().text, whole.summary()])
    }),
    { numRuns: 300 },
  )
})

import { expect, test } from 'vitest'
import { isInlinePicture, isSamePicture } from './pictures.ts'

const picture = { name: 'shop.png', mediaType: 'image/png', sizeBytes: 9, runId: 'a' }

test.each([
  ['another Run kept by the same name', { runId: 'b' }, true],
  ['the same Run kept', {}, false],
  ['has another name', { runId: 'b', name: 'shop.svg' }, false],
  ['is too large to be shown', { runId: 'b', sizeBytes: 4 * 1024 ** 2 + 1 }, false],
  ['is no picture', { runId: 'b', mediaType: 'text/plain' }, false],
])('a picture is compared with one that %s: %o', (_, other, expected) => {
  expect(isSamePicture(picture, { ...picture, ...other })).toBe(expected)
  expect(isSamePicture({ ...picture, ...other }, picture)).toBe(expected)
})

test.each([
  ['shop.png', 'image/png', 0, true],
  ['chart.SVG', 'application/octet-stream', 9, true],
  ['svg', 'application/octet-stream', 9, false],
])('whether %s of the type %s with %i bytes has a place is %s', (name, mediaType, sizeBytes, expected) => {
  expect(isInlinePicture({ name, mediaType, sizeBytes })).toBe(expected)
})

import { expect, test } from 'vitest'
import { addObserver, observed, placeIn, recordPast, rootOf, type Step, within } from './observe.ts'
import { readTraceparent, traceparentOf } from './traceparent.ts'

const of = { organizationId: 'o', sessionId: 's', runId: '0192d4a0-7b1c-4c2e-9a55-1f2e3d4c5b6a' }
const root = rootOf(of.runId)

function watch() {
  const steps: Step[] = []
  return { steps, [Symbol.dispose]: addObserver({ step: step => void steps.push(step) })[Symbol.dispose] }
}

test('every process derives the same root of a Turn from its Run', () => {
  expect(root).toEqual(rootOf(of.runId.toUpperCase()))
  expect(root).toMatchObject({
    traceId: '0192d4a07b1c4c2e9a551f2e3d4c5b6a',
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
  })
})

test('a step lies within the step around it, and a failed one says how it failed', async () => {
  using seen = watch()
  const failing = observed(of, 'provision', async note => {
    note({ fresh: true })
    await observed(of, 'create sandbox', async () => undefined)
    throw new TypeError('no')
  })
  await expect(failing).rejects.toThrow('no')
  const [inner, outer] = seen.steps
  expect(outer).toMatchObject({ name: 'provision', parent: root, error: 'TypeError', attributes: { fresh: true } })
  expect(inner).toMatchObject({ name: 'create sandbox', parent: outer?.place, error: null })
})

test('a step that a request causes points to it, and work for no Run is no step', async () => {
  using seen = watch()
  const request = placeIn(`${'0'.repeat(31)}1`)
  within(request, () => recordPast(of, 'admit', { beganMs: 1 }))
  await observed({ ...of, runId: null }, 'provision', async () => undefined)
  expect(seen.steps).toHaveLength(1)
  expect(seen.steps[0]).toMatchObject({ parent: root, cause: request })
})

test.each([
  ['absent', undefined],
  ['of zeros', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`],
  ['of a forbidden version', `ff-${'1'.repeat(32)}-${'1'.repeat(16)}-01`],
  ['with more than its version has', `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01-x`],
  ['in capitals', `00-${'A'.repeat(32)}-${'1'.repeat(16)}-01`],
])('a traceparent that is %s begins a trace of its own', (_, header) => {
  expect(readTraceparent(header)).toBeNull()
})

test('a traceparent is read back, and a later version may have more', () => {
  const place = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), sampled: false }
  expect(readTraceparent(traceparentOf(place))).toEqual(place)
  expect(readTraceparent(`01-${'1'.repeat(32)}-${'2'.repeat(16)}-01-more`)).toEqual({ ...place, sampled: true })
})

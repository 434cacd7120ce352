import { expect, test } from 'vitest'
import { outcomeText } from './run-outcome.ts'

test.each([
  ['completed', 'completed', null, 'Finished'],
  ['completed', 'max_turns', 200, 'Stopped: it reached its limit of 200 steps'],
  ['completed', 'turn_budget', null, 'Stopped: it reached its limit of steps'],
  ['cancelled', 'aborted', 3, 'Stopped'],
  ['failed', 'repeated_tool_failure', 5, 'Failed: the same tool failed again and again'],
] as const)('a Run that is %s for %s after %s steps', (outcome, stopReason, turns, text) => {
  expect(outcomeText({ outcome, stopReason, turns, errorCode: null })).toBe(text)
})

import { expect, test } from 'vitest'
import { outcomeOfAnswer } from './prompt-outcome.ts'

const berth = (meta: object) => ({ _meta: { berth: meta } })

test.each([
  [{ stopReason: 'end_turn' }, 'completed', 'completed', undefined],
  [{ stopReason: 'max_tokens' }, 'completed', 'max_response', undefined],
  [{ stopReason: 'max_turn_requests' }, 'completed', 'max_turns', undefined],
  [{ stopReason: 'refusal' }, 'failed', 'error', 'agent_refused'],
  [{ stopReason: 'cancelled' }, 'cancelled', 'aborted', undefined],
  [{ stopReason: 'no_such_reason' }, 'failed', 'error', 'agent_protocol'],
  [{ stopReason: 12 }, 'failed', 'error', 'agent_protocol'],
  [{}, 'failed', 'error', 'agent_protocol'],
  [{ stopReason: 'end_turn', ...berth({ stopReason: 'turn_budget' }) }, 'completed', 'turn_budget', undefined],
  [{ stopReason: 'end_turn', ...berth({ stopReason: 'cost_budget' }) }, 'completed', 'cost_budget', undefined],
  [{ stopReason: 'end_turn', ...berth({ stopReason: 'cost_unknown' }) }, 'completed', 'cost_unknown', undefined],
  [{ stopReason: 'max_tokens', ...berth({ stopReason: 'time_budget' }) }, 'completed', 'time_budget', undefined],
  [{ stopReason: 'max_turn_requests', ...berth({ stopReason: 'turn_budget' }) }, 'completed', 'turn_budget', undefined],
  [{ stopReason: 'end_turn', ...berth({ stopReason: 'error' }) }, 'failed', 'error', 'agent_error'],
  [
    { stopReason: 'end_turn', ...berth({ stopReason: 'repeated_tool_failure' }) },
    'failed',
    'repeated_tool_failure',
    'repeated_tool_failure',
  ],
  [{ stopReason: 'end_turn', ...berth({ stopReason: 'aborted' }) }, 'cancelled', 'aborted', undefined],
  [{ stopReason: 'end_turn', ...berth({ stopReason: 'made up' }) }, 'completed', 'completed', undefined],
  [{ stopReason: 'end_turn', ...berth({ errorCode: 'shell_exit_nonzero' }) }, 'failed', 'error', 'shell_exit_nonzero'],
  [
    { stopReason: 'end_turn', ...berth({ errorCode: 'x', stopReason: 'repeated_tool_failure' }) },
    'failed',
    'repeated_tool_failure',
    'x',
  ],
  [{ stopReason: 'end_turn', ...berth({ errorCode: 'Error: at /root/x.ts:3' }) }, 'completed', 'completed', undefined],
  [{ stopReason: 'end_turn', _meta: 'x' }, 'completed', 'completed', undefined],
])('ends the run for the answer %j as %s, %s, %s', (result, status, stopReason, errorCode) => {
  expect(outcomeOfAnswer(result, null)).toEqual({ status, stopReason, ...(errorCode !== undefined && { errorCode }) })
})

test.each([
  [{ code: -32603, message: 'boom' }, 'agent_error'],
  [{}, 'agent_error'],
  [null, 'agent_protocol'],
])('fails the run for the error %j with %s, and keeps its message from everyone', (error, errorCode) => {
  expect(outcomeOfAnswer(null, error)).toEqual({ status: 'failed', stopReason: 'error', errorCode })
})

test("takes the agent's summary", () => {
  expect(outcomeOfAnswer({ stopReason: 'end_turn', ...berth({ summary: 'done\u0000' }) }, null)).toMatchObject({
    summary: 'done�',
  })
})

test("takes the agent's count of turns", () => {
  const turnsOf = (turns: unknown) => outcomeOfAnswer({ stopReason: 'end_turn', ...berth({ turns }) }, null).turns
  expect([3, 0, -1, 1.5, '3', 2 ** 40, null].map(turnsOf)).toEqual([3, 0, ...Array(5).fill(undefined)])
})

test('takes no reason from an agent that only the platform may give', () => {
  for (const stopReason of ['engine_unreachable', 'execution_deadline']) {
    expect(outcomeOfAnswer({ stopReason: 'end_turn', ...berth({ stopReason }) }, null).stopReason).toBe('completed')
  }
})

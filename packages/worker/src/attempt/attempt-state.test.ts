import { describe, expect, it } from 'vitest'
import { type AttemptState, advance, type Move, nextAttemptStep, type Step, type StepInput } from './attempt-state.ts'

const facts = {
  generation: 1,
  state: 'ready',
  loadsSessions: true,
  mcp: [],
  sessionId: 's',
  activePrompt: null,
} as const
const on = { course: { kind: 'on' }, prompt: 'early' } as const
const ready: StepInput = { ...on, facts, prompted: false, end: null, otherModel: false }
const cancelling = { course: { kind: 'let go' } } as const
const decided = { course: { kind: 'decided', outcome: { status: 'failed', stopReason: 'error' } } } as const
const at = (state: StepInput['facts']['state']) => ({ facts: { ...facts, state } })
const unstartable = { kind: 'unstartable', detail: 'no', resuming: false } as const
const earlier = { facts: { ...facts, activePrompt: 'prompt/another/1/1' } }
const prompted = { prompted: true, facts: { ...facts, activePrompt: 'prompt/own/1/1' } }

describe('the next step of an attempt', () => {
  it.each<[string, Partial<StepInput>, Step]>([
    ['no agent', at('none'), 'start the agent'],
    ['an agent that is gone', at('exited'), 'start the agent'],
    ['a new agent', at('started'), 'initialize'],
    ['one that has told its capabilities', at('initialized'), 'open a session'],
    ['one that may still repeat a conversation', at('loaded'), 'await the repetition'],
    ['one that is ready', {}, 'prompt'],
    ['one whose prompt is under way', { prompt: 'given' }, 'prompt'],
    ['one that was started for another model', { otherModel: true }, 'restart for the model'],
    ['one that is at work for an earlier run', earlier, 'end the earlier prompt'],
    ['one that is at work', prompted, 'wait'],
    ['one that will not be set up', { ...at('started'), end: unstartable }, 'give up'],
    ['one that could not be started', { ...at('none'), end: unstartable }, 'start the agent'],
    ['a cancellation before the prompt', cancelling, 'cancel the run'],
    ['a cancellation before there is an agent', { ...at('none'), ...cancelling }, 'cancel the run'],
    ['a cancellation while the prompt is under way', { prompt: 'given', ...cancelling }, 'prompt'],
    ['a cancellation of an earlier run’s successor', { ...earlier, ...cancelling }, 'cancel the run'],
    ['a cancellation of one at work', { ...prompted, ...cancelling }, 'cancel the prompt'],
    ['a cancellation without a session', { ...prompted, ...cancelling, facts: { ...facts, sessionId: null } }, 'wait'],
    ['an end that this worker decided', decided, 'wait'],
    ['a decided end of one at work', { ...prompted, ...decided }, 'wait'],
    ['a decided end of one that will not be set up', { ...at('started'), end: unstartable, ...decided }, 'wait'],
  ])('is right for %s', (_, snapshot, step) => {
    expect(nextAttemptStep({ ...ready, ...snapshot })).toBe(step)
  })
})

const late = { status: 'failed', stopReason: 'error' } as const
const decide: Move = { kind: 'decide', outcome: late }
const again: Move = { kind: 'decide', outcome: { status: 'cancelled', stopReason: 'aborted' } }
const stop = (key: string): Move => ({ kind: 'stop', key })
const letGo: Move = { kind: 'let go' }
const of = (kind: 'stopping' | 'stopped', key: string) => ({ course: { kind, outcome: late, key } })

it.each<[string, Move[], Partial<AttemptState>]>([
  ['takes nothing over before it has caught up', [{ kind: 'take over' }], {}],
  ['catches up once', [{ kind: 'catch up' }, { kind: 'take over' }, { kind: 'catch up' }], { reached: 'taken over' }],
  ['stays ended', [{ kind: 'end' }, { kind: 'leave' }, { kind: 'catch up' }], { reached: 'ended' }],
  ['stays left', [{ kind: 'leave' }, { kind: 'end' }, { kind: 'take over' }], { reached: 'left' }],
  ['keeps its first outcome', [letGo, decide, again, letGo, stop('a')], of('stopping', 'a')],
  ['waits for its last stop', [decide, stop('a'), stop('b'), { kind: 'read', key: 'a' }], of('stopping', 'b')],
  ['stays stopped', [decide, stop('a'), { kind: 'read', key: 'a' }, stop('b'), letGo], of('stopped', 'a')],
])('an attempt %s', (_, moves, state) => {
  const start: AttemptState = { reached: 'backlog', course: { kind: 'on' }, prompt: 'early' }
  expect(moves.reduce(advance, start)).toEqual({ ...start, ...state })
})

import { describe, expect, it } from 'vitest'
import { nextAttemptStep, type Standing, type Step } from './attempt-step.ts'

const facts = {
  generation: 1,
  state: 'ready',
  loadsSessions: true,
  mcp: [],
  sessionId: 's',
  activePrompt: null,
} as const
const ready: Standing = {
  facts,
  prompted: false,
  end: null,
  forced: false,
  cancelling: false,
  promptGiven: false,
  otherModel: false,
}
const at = (state: Standing['facts']['state']) => ({ facts: { ...facts, state } })
const unstartable = { kind: 'unstartable', detail: 'no', resuming: false } as const
const earlier = { facts: { ...facts, activePrompt: 'prompt/another/1/1' } }
const prompted = { prompted: true, facts: { ...facts, activePrompt: 'prompt/own/1/1' } }

describe('the next step of an attempt', () => {
  it.each<[string, Partial<Standing>, Step]>([
    ['no agent', at('none'), 'start the agent'],
    ['an agent that is gone', at('exited'), 'start the agent'],
    ['a new agent', at('started'), 'initialize'],
    ['one that has told its capabilities', at('initialized'), 'open a session'],
    ['one that may still repeat a conversation', at('loaded'), 'await the repetition'],
    ['one that is ready', {}, 'prompt'],
    ['one whose prompt is under way', { promptGiven: true }, 'prompt'],
    ['one that was started for another model', { otherModel: true }, 'restart for the model'],
    ['one that is at work for an earlier run', earlier, 'end the earlier prompt'],
    ['one that is at work', prompted, 'wait'],
    ['one that will not be set up', { ...at('started'), end: unstartable }, 'give up'],
    ['one that could not be started', { ...at('none'), end: unstartable }, 'start the agent'],
    ['a cancellation before the prompt', { cancelling: true }, 'cancel the run'],
    ['a cancellation before there is an agent', { ...at('none'), cancelling: true }, 'cancel the run'],
    ['a cancellation while the prompt is under way', { promptGiven: true, cancelling: true }, 'prompt'],
    ['a cancellation of an earlier run’s successor', { ...earlier, cancelling: true }, 'cancel the run'],
    ['a cancellation of one at work', { ...prompted, cancelling: true }, 'cancel the prompt'],
    [
      'a cancellation of one without a session',
      {
        prompted: true,
        cancelling: true,
        facts: { ...facts, sessionId: null },
      },
      'wait',
    ],
    ['an end that this worker decided', { forced: true }, 'wait'],
    ['a decided end of one that is cancelled', { ...prompted, forced: true, cancelling: true }, 'wait'],
    ['a decided end of one that will not be set up', { ...at('started'), end: unstartable, forced: true }, 'wait'],
  ])('is right for %s', (_, standing, step) => {
    expect(nextAttemptStep({ ...ready, ...standing })).toBe(step)
  })
})

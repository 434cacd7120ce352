import type { ToolStep } from '@berth/client/transcript'
import { expect, test, vi } from 'vitest'
import { workSummary } from './work-summary.ts'

let calls = 0
const call = (toolKind: string, title = `call ${++calls}`, more: Partial<ToolStep> = {}): ToolStep => ({
  ...{ kind: 'tool', id: title, name: 'bash', title, toolKind, status: 'succeeded', truncated: false, durationMs: 1 },
  ...more,
})
const diff = (path: string) => ({ diff: [{ path, oldText: null, newText: 'x' }] })

test.each<[string, ToolStep[], string]>([
  ['nothing', [], ''],
  ['calls that run', [call('other', 'bash', { status: 'running' })], ''],
  ['one command', [call('execute')], 'Ran 1 command'],
  [
    'commands before files, whatever their order',
    [call('read'), call('execute'), call('edit'), call('execute', 'npm test', { status: 'failed' })],
    'Ran 2 commands, edited 1 file, read 1 file',
  ],
  [
    'a file that was changed twice, once',
    [call('edit', 'edit a', diff('a')), call('edit', 'write a', diff('a'))],
    'Edited 1 file',
  ],
  ['searches', [call('search'), call('search')], 'Made 2 searches'],
  [
    'sub-agents, whose calls are of a kind for thoughts',
    [call('think', 'x', { name: 'delegate' })],
    'Started 1 sub-agent',
  ],
  ['a question', [call('other', 'ask the user', { name: 'ask_user' })], 'Asked 1 question'],
  ['tools of others by their names', [call('other', 'x', { name: 'jira\u202E' })], 'Used jira⟨U+202E⟩'],
  ['many of them by their number', ['a', 'b', 'c', 'c'].map(name => call('other', name, { name })), 'Used 3 tools'],
  ['a tool that is called as a member of every object', [call('other', 'x', { name: 'toString' })], 'Used toString'],
])('tells %s', (_, steps, text) => {
  expect(workSummary(steps)).toBe(text)
})

test('a kind of call is gathered in one list, which is not copied for each call', () => {
  const steps = Array.from({ length: 1_000 }, () => call('execute'))
  const made = vi.spyOn(Map.prototype, 'set')
  const text = workSummary(steps)
  const lists = made.mock.calls.length
  made.mockRestore()
  expect([text, lists]).toEqual(['Ran 1,000 commands', 1])
})

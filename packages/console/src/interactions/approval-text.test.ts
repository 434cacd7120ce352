import { describe, expect, it } from 'vitest'
import { actionOf, choicesOf, deedOf, nounOf } from './approval-text.ts'

const approval = { requestId: 'r', runId: 'r', deadline: 0, toolName: 'bash' }

describe('an approval', () => {
  it.each([
    [[], ['allow_once', 'deny']],
    [['turn'], ['allow_once', 'allow_turn', 'deny']],
    [
      ['chat', 'turn'],
      ['allow_once', 'allow_turn', 'allow_chat', 'deny'],
    ],
    [
      ['turn', 'chat', 'project'],
      ['allow_once', 'allow_turn', 'allow_chat', 'allow_project', 'deny'],
    ],
  ])('offers for the scopes %j no wider decision than the agent remembers', (scopes, expected) => {
    expect(choicesOf(scopes).map(({ choice }) => choice)).toEqual(expected)
  })

  it.each([
    [{ kind: 'execute' }, 'command', 'Runs a command in the sandbox'],
    [{ kind: 'edit', confinement: 'outside' }, 'edit', 'Changes a file outside the sandbox’s confinement'],
    [
      { kind: 'fetch', confinement: 'network', destination: 'api.example' },
      'request',
      'Sends a request in the sandbox, with the network, to api.example',
    ],
    [
      { toolName: 'network', kind: 'fetch', confinement: 'network', destination: 'api.example:443' },
      'connection',
      'Connects a program in the sandbox to api.example:443',
    ],
    [{}, 'action', 'Uses a tool in the sandbox'],
  ] as const)('of %j says which kind of action it is, what it does and where', (facts, noun, deed) => {
    expect([nounOf({ ...approval, ...facts }), deedOf({ ...approval, ...facts })]).toEqual([noun, deed])
  })

  it.each([
    [{ input: { command: 'rm -rf build' }, title: 'Clean' }, [['', 'rm -rf build']]],
    [
      { input: { path: 'a.txt', old: 'a\nb', all: true, empty: '' } },
      [
        ['path', 'a.txt'],
        ['old', 'a\nb'],
        ['all', 'true'],
        ['empty', '""'],
      ],
    ],
    [{ input: { command: ['rm', '-rf'] } }, [['command', '[\n  "rm",\n  "-rf"\n]']]],
    [{ title: 'Clean' }, [['', 'Clean']]],
    [{}, [['', 'bash']]],
  ])('of %j shows the whole action', (facts, expected) => {
    expect(actionOf({ ...approval, ...facts })).toEqual(expected)
  })
})

import type { Interaction, Question } from '@berth/client'
import { describe, expect, test } from 'vitest'
import { LineEditor } from '../src/attach/line-editor.ts'
import { promptOf, type Reply } from '../src/attach/prompts.ts'
import type { Paint } from '../src/output.ts'
import { exact } from '../src/terminal-text.ts'

const plain: Paint = (_, text) => text
const interaction = (kind: Interaction['kind'], request: object) => ({ id: 'i', kind, request }) as Interaction
const form = (...questions: Partial<Question>[]) =>
  promptOf(interaction('ask_user', { questions: questions.map(each => ({ question: 'Q?', options: [], ...each })) }))
const repliesOf = (prompt: ReturnType<typeof promptOf>, ...texts: string[]): Reply[] =>
  texts.map(text => prompt.answer(text))

describe('an approval', () => {
  const approval = (more: object) =>
    promptOf(
      interaction('approval', { approval: { requestId: 'r', toolName: 'bash', deadline: 0, runId: 'x', ...more } }),
    )

  test('takes the scopes that the request allows, and nothing that is not one of its letters', () => {
    const prompt = approval({ rememberScopes: ['chat'] })
    expect(prompt.label).toBe('Allow it? y yes, once · a always in this session · n no ›')
    expect(repliesOf(prompt, ' Y', 'yes', 'a', 'n', 'NO')).toEqual(
      ['allow_once', 'allow_once', 'allow_chat', 'deny', 'deny'].map(choice => ({ kind: 'decide', choice })),
    )
    for (const text of ['', 't', 'ye', 'yy', 'always']) expect(prompt.answer(text)).toMatchObject({ kind: 'fault' })
  })

  test('about a host can be decided for the environment', () => {
    const prompt = approval({
      toolName: 'network',
      title: 'npm wants to reach a.example.org:443',
      destination: 'a.example.org:443',
      confinement: 'network',
      rememberScopes: ['turn', 'chat', 'project'],
    })
    expect(prompt.label).toContain('p for the environment')
    expect(repliesOf(prompt, 'p')).toEqual([{ kind: 'decide', choice: 'allow_project' }])
    expect(prompt.lines(plain)).toEqual([
      '? The agent asks to let a program reach a host',
      '  action  npm wants to reach a.example.org:443',
      '  to      a.example.org:443',
      '  within  network',
    ])
  })

  test('is shown whole, with what cannot be seen', () => {
    const input = { file: 'a\u202eb', content: `${'x'.repeat(50_000)}\nend` }
    const lines = approval({ input, title: 'Write\nit' }).lines(plain).join('\n')
    expect(lines).toContain('"file": "a<U+202E>b"')
    expect(lines).toContain(`${'x'.repeat(50_000)}\\nend"`)
    expect(lines).toContain('  action  Write\n          it')
    expect(approval({ input: { command: 'a\nb' } }).lines(plain)[1]).toBe('  input   a')
  })
})

test('a plan is approved by y, and everything else is what to change', () => {
  const prompt = promptOf(interaction('exit_plan_mode', { plan: 'one\ntwo', prompt: 'Ready?' }))
  expect(prompt.lines(plain)).toEqual(['? Ready?', '  one', '  two'])
  expect(repliesOf(prompt, 'y', 'approve', 'yes but smaller', ' ')).toEqual([
    { kind: 'reply', message: 'approve' },
    { kind: 'reply', message: 'approve' },
    { kind: 'reply', message: 'yes but smaller' },
    { kind: 'fault', text: 'type y to approve it, or what to change' },
  ])
})

describe('a form', () => {
  const options = ['Red', 'Blue']

  test.each([
    ['a number', { options }, '2', 'Blue'],
    ['a label', { options }, 'red', 'Red'],
    ['words of one’s own', { options }, 'green', 'green'],
    ['several numbers', { options, multiSelect: true, fieldId: 'c' }, '2, 1,2', '{"c":["Red","Blue"]}'],
    ['the default', { options, defaultValue: 'Blue' }, '', 'Blue'],
    ['words', {}, ' Ada ', 'Ada'],
  ])('takes %s', (_, question, text, message) => {
    expect(form(question).answer(text)).toEqual({ kind: 'reply', message })
  })

  test.each([
    ['nothing, for the only question', {}, ''],
    ['a number that is no option', { options, allowCustom: false }, '3'],
    ['nothing, if an answer is required', { required: true }, ' '],
    ['no number', { valueType: 'integer' as const }, 'x'],
  ])('does not take %s', (_, question, text) => {
    expect(form(question).answer(text)).toMatchObject({ kind: 'fault' })
  })

  test('asks one question after the other, and skips what is optional', () => {
    const prompt = form(
      { options, fieldId: 'c', recommendedIndex: 1 },
      { fieldId: 'n' },
      { fieldId: 'o', required: true },
    )
    expect(prompt.lines(plain)).toEqual(['? Q? (1 of 3)', '  1  Red', '  2  Blue (recommended)'])
    expect(prompt.label).toBe('1-2, or your own words, Enter to skip ›')
    expect(repliesOf(prompt, '1', '')).toEqual([{ kind: 'next' }, { kind: 'next' }])
    expect([prompt.lines(plain), prompt.label]).toEqual([['? Q? (3 of 3)'], 'Answer ›'])
    expect(repliesOf(prompt, '', 'x')).toEqual([
      { kind: 'fault', text: 'An answer is required.' },
      { kind: 'reply', message: '{"c":"Red","o":"x"}' },
    ])
  })
})

describe('the line in which a person types', () => {
  const typed = (...keys: readonly (string | { name: string; ctrl?: boolean; meta?: boolean })[]) => {
    const editor = new LineEditor()
    for (const key of keys) editor.press(typeof key === 'string' ? { sequence: key } : key)
    return editor
  }
  const control = (name: string) => ({ name, ctrl: true })

  test.each([
    ['a b', ['a', ' ', 'b']],
    ['ac', ['a', 'b', { name: 'backspace' }, 'c']],
    ['xab', ['a', 'b', control('a'), 'x']],
    ['one ', ['one', ' ', 'two', control('w')]],
    ['', ['one', control('u')]],
    ['a\nb', ['a', { name: 'return', meta: true }, 'b']],
    ['😀c', ['😀', '😀', { name: 'backspace' }, 'c']],
    ['ab', ['a', '\u001b[1;2Q', 'b']],
  ])('holds %j', (text, keys) => {
    expect(typed(...keys).text).toBe(text)
  })

  test('what is pasted keeps its line breaks and no other control character', () => {
    const editor = new LineEditor()
    editor.insert('a\r\nb\u001b[2J\tc')
    expect(editor.text).toBe('a\nb[2Jc')
    expect(editor.shown(20)).toEqual({ text: 'a⏎b[2Jc', back: 0 })
  })

  test('a long text is shown around the cursor', () => {
    const editor = typed('x'.repeat(100))
    expect(editor.shown(10)).toEqual({ text: 'x'.repeat(9), back: 0 })
    editor.press(control('a'))
    expect(editor.shown(10)).toEqual({ text: 'x'.repeat(9), back: 9 })
  })
})

test('what is decided on shows every character that cannot be seen', () => {
  expect(exact('a\u200bb\u202ec\u00add\u{e0041}\u001b\tß 日本\r\nx')).toBe(
    'a<U+200B>b<U+202E>c<U+00AD>d<U+E0041><U+001B><U+0009>ß 日本\nx',
  )
})

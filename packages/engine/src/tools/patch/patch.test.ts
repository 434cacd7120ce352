import { describe, expect, it } from 'vitest'
import { applyChunks } from './apply-chunks.ts'
import { isTrainedOnPatches } from './apply-patch.ts'
import { parsePatch } from './parse-patch.ts'

const patched = (text: string, ...body: string[]) => {
  const [change] = parsePatch(['*** Begin Patch', '*** Update File: a', ...body, '*** End Patch'].join('\n'))
  if (change?.kind !== 'update') throw new Error('no update')
  return applyChunks(text, change.chunks)
}

describe('a patch', () => {
  it('changes several files in several ways', () => {
    const input = [
      '*** Begin Patch',
      ...['*** Add File: new dir/b.txt', '+one', '+', '+*** two'],
      ...['*** Delete File: old.txt'],
      ...['*** Update File: a.ts', '*** Move to: c.ts', '@@ class A', '@@  method() {', '-x', '+y', '*** End of File'],
      '*** End Patch',
      '',
    ].join('\r\n')
    expect(parsePatch(input)).toEqual([
      { kind: 'add', path: 'new dir/b.txt', text: 'one\n\n*** two\n' },
      { kind: 'delete', path: 'old.txt' },
      {
        kind: 'update',
        path: 'a.ts',
        to: 'c.ts',
        chunks: [
          {
            anchors: ['class A', 'method() {'],
            lines: [
              { kind: '-', text: 'x' },
              { kind: '+', text: 'y' },
            ],
            atEnd: true,
          },
        ],
      },
    ])
  })

  it.each([
    ['', 'The patch is empty.'],
    ['*** Begin Patch\n*** End Patch', 'The patch is empty.'],
    ['--- a\n+++ b', /line 1 of the patch is no "\*\*\* Update File/],
    ['*** Add File: a\n+x\ny', /line 3 of the patch, of a new file/],
    ['*** Update File: a\n-x\n*y', /line 3 of the patch begins with none/],
    ['*** Update File: a', /nothing to change in a/],
  ])('that is none is refused: %j', (input, message) => {
    expect(() => parsePatch(input)).toThrow(message)
  })
})

describe('chunks', () => {
  it('apply in order, below their anchors, and keep the lines that stay as they are', () => {
    const text = 'a {\n  x = 1  \n}\nb {\n  x = 1\n}\n'
    expect(patched(text, '@@ b {', '   x = 1', '+  y = 2', ' }')).toBe('a {\n  x = 1  \n}\nb {\n  x = 1\n  y = 2\n}\n')
    expect(patched(text, ' a {', '   x = 1', '+  z', '@@', '-b {', '+c {')).toBe(
      'a {\n  x = 1  \n  z\n}\nc {\n  x = 1\n}\n',
    )
  })

  it('keep line ends, and the lack of one at the end', () => {
    expect(patched('a\r\nb\r\nc', '-b', '+x', '+y')).toBe('a\r\nx\r\ny\r\nc')
    expect(patched('a\r\nb', '-b', '+x', '+y', '*** End of File')).toBe('a\r\nx\r\ny')
    expect(patched('a', '+b')).toBe('a\nb')
    expect(patched('', '+a', '+b')).toBe('a\nb\n')
  })

  it('find the end of a file, and lines with other white space or quotes', () => {
    expect(patched('x\ny\nx\n', '-x', '+z', '*** End of File')).toBe('x\ny\nz\n')
    expect(patched('\tsay(\u201chi\u201d)\n', '-  say("hi")', '+  say("ho")')).toBe('  say("ho")\n')
    expect(patched('a\nb\n', ' a', '+x', '')).toBe('a\nx\nb\n')
  })

  it('that are not there show the nearest text', () => {
    expect(() => patched('const one = 1\nconst two = 2\n', '-const one = 3', '+x')).toThrow(
      /these lines are not there:\nconst one = 3\nThe nearest text, which differs, is at line 1:\nconst one = 1/,
    )
    expect(() => patched('a\n', '@@ class B', '+x')).toThrow('the line "class B" of an @@ is not there.')
  })
})

it.each([
  ['gpt-5.2-codex', true],
  ['openai/gpt-5', true],
  ['codex-mini-latest', true],
  ['o4-mini', true],
  ['gpt-4o', false],
  ['claude-opus-4-5', false],
  ['main/m1', false],
])('a model %s is trained on patches: %s', (model, is) => {
  expect(isTrainedOnPatches(model)).toBe(is)
})

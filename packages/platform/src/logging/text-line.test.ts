import { expect, test } from 'vitest'
import { textLine } from './text-line.ts'

const line = (entry: object) => textLine(`${JSON.stringify(entry)}\n`, { colours: false })
const time = new Date(2026, 0, 2, 3, 4, 5).getTime()

test.each([
  ['a message', { level: 30, time, pid: 1, hostname: 'h', msg: 'Berth is ready' }, '03:04:05 INFO  Berth is ready\n'],
  [
    'a part of the service',
    { level: 40, time, component: 'sandboxes', msg: 'memory: unbounded' },
    '03:04:05 WARN  sandboxes: memory: unbounded\n',
  ],
  [
    'members',
    { level: 30, time, path: '/data/master.key', why: 'two words', count: 3, msg: 'made' },
    '03:04:05 INFO  made path=/data/master.key why="two words" count=3\n',
  ],
  [
    'a request',
    { level: 30, time, requestId: 'r', method: 'GET', path: '/v1/me', status: 200, durationMs: 4, msg: 'request' },
    '03:04:05 INFO  GET /v1/me 200 in 4 ms requestId=r\n',
  ],
  [
    'an error',
    { level: 50, time, err: { message: 'no', stack: 'Error: no\n    at x' }, msg: 'failed' },
    '03:04:05 ERROR failed\n         Error: no\n             at x\n',
  ],
])('%s', (_, entry, text) => {
  expect(line(entry)).toBe(text)
})

test('nothing that somebody else chose reaches the terminal as a command', () => {
  const hostile = '\u001b]0;title\u0007\u001b[2J\r\n\u202eevil\u0000'
  const written = line({ level: 30, time, path: hostile, err: { stack: hostile }, msg: hostile, [hostile]: 1 })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
  expect(written.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
  expect(written).toContain('<U+202E>evil')
})

test('a line that is no JSON object is shown as it is, made safe', () => {
  expect(textLine('plain \u0007\n', { colours: false })).toBe('plain <U+0007>\n')
  expect(textLine('[1]\n', { colours: false })).toBe('[1]\n')
})

test('colours mark the severity', () => {
  expect(textLine('{"level":50,"msg":"x"}', { colours: true })).toContain('\u001b[31mERROR\u001b[39m')
})
